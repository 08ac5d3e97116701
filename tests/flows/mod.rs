//! The flows of users and applications, step by step, with faults. The client repeats each step without an answer, and
//! compares the received answers with the database.

mod backchannel;
pub mod balancer;
pub mod cluster;
pub mod fault;
pub mod load;
mod logout;
pub mod postgres_server;
mod protected_action;
mod sign_in;
mod tokens;

use std::time::Duration;

use reqwest::StatusCode;

pub use cluster::Cluster;
pub use fault::{Fault, Point, new_name, record, run};
pub use postgres_server::PostgresServer;
pub use sign_in::SignIn;
pub use tokens::CodeExchange;

use crate::harness::Page;
use backchannel::Backchannel;
use logout::Logout;
use protected_action::ProtectedAction;
use tokens::Refresh;

/// The time that a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(15);

/// A step without an answer, or with an outage as the answer. The client does not know whether the server executed it.
#[derive(Debug)]
pub struct Unknown(String);

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<reqwest::Error> for Unknown {
    fn from(error: reqwest::Error) -> Self {
        Self(format!("{error:?}"))
    }
}

/// The result of a step.
pub type Attempt<T> = Result<T, Unknown>;

/// Returns the page, unless it reports a failure of the server.
fn answered(page: Page) -> Attempt<Page> {
    outage(page.status, &page.url)?;
    Ok(page)
}

fn outage(status: StatusCode, what: &str) -> Attempt<()> {
    match status.is_server_error() {
        true => Err(Unknown(format!("{status} of {what}"))),
        false => Ok(()),
    }
}

/// A flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    SignIn,
    CodeExchange,
    Refresh,
    Logout,
    ProtectedAction,
    Backchannel,
}

impl Flow {
    pub const ALL: [Self; 6] = [
        Self::SignIn,
        Self::CodeExchange,
        Self::Refresh,
        Self::Logout,
        Self::ProtectedAction,
        Self::Backchannel,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::SignIn => "sign-in",
            Self::CodeExchange => "code exchange",
            Self::Refresh => "refresh",
            Self::Logout => "logout",
            Self::ProtectedAction => "protected action",
            Self::Backchannel => "back-channel request",
        }
    }

    /// Prepares the flow for a user of this name: runs all earlier steps.
    pub async fn prepare(self, cluster: &Cluster, name: &str) -> RunningFlow {
        match self {
            Self::SignIn => RunningFlow::SignIn(Box::new(SignIn::prepare(cluster, name).await)),
            Self::CodeExchange => {
                RunningFlow::CodeExchange(Box::new(CodeExchange::prepare(cluster, name).await))
            }
            Self::Refresh => RunningFlow::Refresh(Box::new(Refresh::prepare(cluster, name).await)),
            Self::Logout => RunningFlow::Logout(Box::new(Logout::prepare(cluster, name).await)),
            Self::ProtectedAction => RunningFlow::ProtectedAction(Box::new(
                ProtectedAction::prepare(cluster, name).await,
            )),
            Self::Backchannel => {
                RunningFlow::Backchannel(Box::new(Backchannel::prepare(cluster, name).await))
            }
        }
    }
}

/// A running flow, with the client's record of the answers.
pub enum RunningFlow {
    SignIn(Box<SignIn>),
    CodeExchange(Box<CodeExchange>),
    Refresh(Box<Refresh>),
    Logout(Box<Logout>),
    ProtectedAction(Box<ProtectedAction>),
    Backchannel(Box<Backchannel>),
}

impl RunningFlow {
    /// Takes the remaining steps.
    ///
    /// # Errors
    /// Returns the first step without an answer. The next call repeats that step.
    pub async fn attempt(&mut self) -> Attempt<()> {
        match self {
            Self::SignIn(flow) => flow.attempt().await,
            Self::CodeExchange(flow) => flow.attempt().await,
            Self::Refresh(flow) => flow.attempt().await,
            Self::Logout(flow) => flow.attempt().await,
            Self::ProtectedAction(flow) => flow.attempt().await,
            Self::Backchannel(flow) => flow.attempt().await,
        }
    }

    /// Asserts that all acknowledged results exist, and that no code, token or approval was used twice.
    pub async fn check(&mut self, cluster: &Cluster) {
        match self {
            Self::SignIn(flow) => flow.check(cluster).await,
            Self::CodeExchange(flow) => flow.check(cluster).await,
            Self::Refresh(flow) => flow.check(cluster).await,
            Self::Logout(flow) => flow.check(cluster).await,
            Self::ProtectedAction(flow) => flow.check(cluster).await,
            Self::Backchannel(flow) => flow.check(cluster).await,
        }
    }
}
