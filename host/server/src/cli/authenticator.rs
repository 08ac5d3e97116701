//! `assent authenticator`

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Subcommand;

use crate::authenticator::enrolled::{Authenticator, PendingRequest};
use crate::authenticator::enrolment::PendingEnrolment;
use crate::authenticator::exchange::NoResponse;
use assent_admin_client::terminal;
use assent_model::approval::MatchingNumber;
use assent_model::id::ApprovalId;

#[derive(Debug, Subcommand)]
pub(super) enum AuthenticatorCommand {
    /// Enrol a device with a link: creates a key and stores it in the file. If the response was lost, the same command
    /// continues. The device has no passkey, which needs a browser and a screen lock.
    Enrol {
        /// The link, as `POST /admin/api/v1/users/{id}/enrolments` or the bootstrap returns it.
        url: String,
        /// The file to create, or that of an earlier attempt with this link. It contains the private key.
        #[arg(long, value_name = "FILE")]
        store: PathBuf,
        /// The device's name.
        #[arg(long, default_value = "Command line")]
        name: String,
        /// A Web Push subscription in JSON, which receives notifications.
        #[arg(long, value_name = "JSON")]
        push: Option<String>,
    },
    /// Decide the pending request, or the next one. If several are pending, specify one with `--request`. A device with
    /// a passkey approves only in its browser.
    #[command(group(clap::ArgGroup::new("decision").required(true).args(["number", "approve", "deny", "report"])))]
    Decide {
        /// The file that `enrol` created.
        #[arg(long, value_name = "FILE")]
        store: PathBuf,
        /// The id of the request, as `list` prints it.
        #[arg(long, value_name = "ID")]
        request: Option<ApprovalId>,
        /// Approve with the number that the browser or the application shows.
        #[arg(long, value_name = "NUMBER", value_parser = matching_number)]
        number: Option<String>,
        /// Approve a request without a browser and without a number.
        #[arg(long)]
        approve: bool,
        /// Deny.
        #[arg(long)]
        deny: bool,
        /// Report: it was not you who began the sign-in. A cooldown begins, in which requests reach none of your
        /// devices.
        #[arg(long)]
        report: bool,
        /// The time to wait for a request, in seconds.
        #[arg(long, default_value_t = 30)]
        wait: u32,
    },
    /// Begin a QR sign-in with the code of a login page. An approval request follows.
    QrSignIn {
        /// The content of the code: a link with `#login=` in it.
        link: String,
        /// The file that `enrol` created.
        #[arg(long, value_name = "FILE")]
        store: PathBuf,
    },
    /// Enter the code that another device shows, to sign in there. An approval request follows
    EnterCode {
        /// The code: eight letters. Case, spaces and hyphens do not matter.
        code: String,
        /// The file that `enrol` created.
        #[arg(long, value_name = "FILE")]
        store: PathBuf,
    },
    /// Print the pending requests, as JSON.
    List {
        /// The file that `enrol` created.
        #[arg(long, value_name = "FILE")]
        store: PathBuf,
    },
}

fn matching_number(text: &str) -> Result<String, &'static str> {
    MatchingNumber::parse_typed(text)
        .map(|number| number.to_string())
        .ok_or(
            "expected the two digits that the browser shows, or the two to four of an application",
        )
}

/// Returns the number of an approval; empty for a request without a number, and `None` to deny.
fn number_of_approval(
    request: &PendingRequest,
    number: Option<String>,
    approve: bool,
) -> anyhow::Result<Option<String>> {
    match (request.has_number(), number) {
        (false, Some(_)) => bail!("the request has no number; approve it with --approve"),
        (true, None) if approve => bail!(
            "the browser or the application shows a number; approve the request with --number"
        ),
        (_, number) => Ok(number.or_else(|| approve.then(String::new))),
    }
}

pub(super) async fn run(command: AuthenticatorCommand) -> anyhow::Result<()> {
    match command {
        AuthenticatorCommand::Enrol {
            url,
            store,
            name,
            push,
        } => {
            let push = push
                .map(|text| serde_json::from_str(&text))
                .transpose()
                .context("--push is not a subscription")?;
            // The file has the key before the link is used, because the link is valid only once.
            let pending = PendingEnrolment::begin(&url, &store).await?;
            let authenticator = match pending.send(&url, &name, push).await {
                Ok(authenticator) => authenticator,
                Err(error) if error.is::<NoResponse>() => {
                    return Err(error.context(format!(
                        "the device may be enrolled; run the same command again, because {} has its key",
                        store.display()
                    )));
                }
                Err(error) => {
                    std::fs::remove_file(&store)?;
                    return Err(error);
                }
            };
            authenticator.replace(&store)?;
            terminal::report_line(format_args!(
                "Enrolled for {} at {}.",
                authenticator.account(),
                authenticator.issuer()
            ));
        }
        AuthenticatorCommand::Decide {
            store,
            request,
            number,
            approve,
            deny: _,
            report,
            wait,
        } => {
            let authenticator = Authenticator::load(&store)?;
            let mut requests = authenticator.waiting(wait).await?;
            if let Some(id) = request {
                requests.retain(|pending| pending.id == id);
            }
            let request = match requests.as_slice() {
                [request] => request,
                [] => bail!("no such request is pending"),
                several => bail!(
                    "{} requests are pending; specify one with --request",
                    several.len()
                ),
            };
            let number = number_of_approval(request, number, approve)?;
            let outcome = match report {
                true => authenticator.report(request).await?,
                false => authenticator.decide(request, number.as_deref()).await?,
            };
            report_decision(request, &outcome);
        }
        AuthenticatorCommand::QrSignIn { link, store } => {
            let authenticator = Authenticator::load(&store)?;
            let preview = authenticator.preview_login(&link).await?;
            authenticator.scan(&link).await?;
            terminal::report_line(format_args!(
                "Signing in to {} on {}, {}.",
                preview.application, preview.browser, preview.place
            ));
        }
        AuthenticatorCommand::EnterCode { code, store } => {
            let authenticator = Authenticator::load(&store)?;
            let request = authenticator.enter_code(&code).await?;
            terminal::report_line(format_args!("Entered. Decide the request {request}."));
        }
        AuthenticatorCommand::List { store } => {
            let requests = Authenticator::load(&store)?.waiting(0).await?;
            let requests = serde_json::to_string_pretty(&requests)?;
            terminal::print(&format!("{requests}\n"))?;
        }
    }
    Ok(())
}

/// Prints the outcome of a decision, and what it was about.
fn report_decision(request: &PendingRequest, outcome: &str) {
    match &request.action {
        Some(action) => {
            let action = assent_model::printable::lines(action);
            terminal::report_line(format_args!("{outcome}: {}: {action}", request.account));
        }
        None if request.browser.is_empty() => terminal::report_line(format_args!(
            "{outcome}: {} for {}",
            request.account, request.application.name
        )),
        None => terminal::report_line(format_args!(
            "{outcome}: {} on {} for {}",
            request.account, request.browser, request.application.name
        )),
    }
    for detail in &request.details {
        // A terminal shows the isolates of values as characters.
        let detail = detail.replace(['\u{2068}', '\u{2069}'], "");
        let detail = assent_model::printable::lines(&detail);
        terminal::report_line(format_args!("  {detail}"));
    }
}
