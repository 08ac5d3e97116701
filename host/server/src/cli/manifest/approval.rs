//! The approval of a plan by an administrator, on a device.

use reqwest::Method;
use serde::Deserialize;

use assent_admin_client::connection::{Api, Problem};
use assent_admin_client::terminal::{self, harmless};

/// The header with the id of the approval.
pub(super) const HEADER: &str = "x-assent-action-approval";
/// The maximum time for which a response of the server waits for the decision, in seconds.
const WAIT: &str = "25";

/// A pending approval.
#[derive(Deserialize)]
pub(super) struct Pending {
    pub(super) id: String,
    summary: String,
    number: String,
}

#[derive(Deserialize)]
struct Approval {
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Pending,
    Approved,
    Denied,
    Ended,
}

/// Returns the approval that a problem requires, if it requires one.
pub(super) fn pending_approval(problem: &Problem) -> Option<Pending> {
    let pending = problem.members.get("action_approval")?;
    serde_json::from_value(pending.clone()).ok()
}

/// Waits for the decision of the administrator. Returns whether it is an approval.
///
/// # Errors
/// If the server cannot be reached.
pub(super) async fn wait_for_decision(
    api: &Api,
    name: &str,
    pending: &Pending,
) -> anyhow::Result<bool> {
    let Pending {
        id,
        summary,
        number,
    } = pending;
    terminal::note(format_args!(
        "Approval request sent to {name}: {}\nMatching number: {}. {name} types it on the device. Waiting for the \
         decision ...",
        harmless(summary),
        harmless(number),
        name = harmless(name)
    ));
    let parts = ["action-approvals".to_owned(), id.clone()];
    let query = [("wait".to_owned(), WAIT.to_owned())];
    loop {
        let answer = api
            .send(api.request(Method::GET, &parts, &query), |_| None)
            .await?;
        let bytes = api.bytes(answer).await?;
        let Approval { state } = api.parse(&bytes)?;
        match state {
            State::Pending => {}
            State::Approved => return Ok(true),
            State::Denied | State::Ended => return Ok(false),
        }
    }
}
