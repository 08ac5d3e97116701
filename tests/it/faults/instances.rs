//! One of two instances has a fault at a COMMIT. The other one serves, no acknowledged write is lost, and no single-use
//! value is accepted twice. `scripts/faults` tests each fault at each COMMIT. Here is one test of each kind.

use crate::flows::{Cluster, Fault, Flow, record, run};

/// Runs the flow with the fault at the first COMMIT whose transaction contains such a statement.
async fn hit(flow: Flow, statement: &str, fault: Fault) {
    let mut cluster = Cluster::start().await;
    let points = record(&cluster, flow).await;
    let point = points
        .iter()
        .find(|point| {
            point
                .statements
                .iter()
                .any(|one| one.starts_with(statement))
        })
        .unwrap_or_else(|| panic!("no {statement} in {points:?}"));
    run(&mut cluster, flow, point, fault).await;
}

#[tokio::test]
async fn an_instance_killed_before_the_session_is_committed() {
    hit(Flow::SignIn, "INSERT INTO sessions", Fault::Kill).await;
}

#[tokio::test]
async fn an_instance_stopped_while_it_commits_an_approval() {
    hit(Flow::SignIn, "UPDATE approvals", Fault::Stop).await;
}

#[tokio::test]
async fn an_instance_killed_after_it_committed_an_exchange() {
    hit(
        Flow::CodeExchange,
        "UPDATE token_families",
        Fault::KillAfter,
    )
    .await;
}

#[tokio::test]
async fn a_refresh_whose_commit_reply_is_dropped() {
    hit(Flow::Refresh, "UPDATE token_families", Fault::DropReply).await;
}

#[tokio::test]
async fn a_logout_that_freezes_at_its_commit() {
    hit(Flow::Logout, "UPDATE sessions", Fault::Freeze).await;
}

/// The application is notified, although the instance was killed between the decision and the delivery.
#[tokio::test]
async fn an_instance_killed_between_a_decision_and_its_notification() {
    hit(
        Flow::Backchannel,
        "UPDATE backchannel_deliveries",
        Fault::KillAfter,
    )
    .await;
}

#[tokio::test]
async fn a_protected_action_whose_connections_are_reset() {
    hit(
        Flow::ProtectedAction,
        "UPDATE action_approvals",
        Fault::Reset,
    )
    .await;
}
