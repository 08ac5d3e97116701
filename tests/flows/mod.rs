//! What users and applications do, step by step, beside faults: each step whose answer did not come is done again, and
//! the answers that came are held against what the database has.

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
use logout::Logout;
use protected_action::ProtectedAction;
use tokens::Refresh;

/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(15);

/// A step whose answer did not come, or was an outage: the client does not know whether it was done.
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

/// What came of a step.
pub type Attempt<T> = Result<T, Unknown>;

/// The page, unless it says that the server failed.
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

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    SignIn,
    CodeExchange,
    Refresh,
    Logout,
    ProtectedAction,
}

impl Flow {
    pub const ALL: [Self; 5] = [
        Self::SignIn,
        Self::CodeExchange,
        Self::Refresh,
        Self::Logout,
        Self::ProtectedAction,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::SignIn => "sign-in",
            Self::CodeExchange => "code exchange",
            Self::Refresh => "refresh",
            Self::Logout => "logout",
            Self::ProtectedAction => "protected action",
        }
    }

    /// Does all that comes before, for a user of this name.
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
        }
    }
}

/// A flow under way, with the client's record of the answers.
pub enum RunningFlow {
    SignIn(Box<SignIn>),
    CodeExchange(Box<CodeExchange>),
    Refresh(Box<Refresh>),
    Logout(Box<Logout>),
    ProtectedAction(Box<ProtectedAction>),
}

impl RunningFlow {
    /// Does what remains.
    ///
    /// # Errors
    /// The first step whose answer did not come. The next call does it again.
    pub async fn attempt(&mut self) -> Attempt<()> {
        match self {
            Self::SignIn(flow) => flow.attempt().await,
            Self::CodeExchange(flow) => flow.attempt().await,
            Self::Refresh(flow) => flow.attempt().await,
            Self::Logout(flow) => flow.attempt().await,
            Self::ProtectedAction(flow) => flow.attempt().await,
        }
    }

    /// Holds that what was acknowledged is there, and that nothing was used twice.
    pub async fn check(&self, cluster: &Cluster) {
        match self {
            Self::SignIn(flow) => flow.check(cluster).await,
            Self::CodeExchange(flow) => flow.check(cluster).await,
            Self::Refresh(flow) => flow.check(cluster).await,
            Self::Logout(flow) => flow.check(cluster).await,
            Self::ProtectedAction(flow) => flow.check(cluster).await,
        }
    }
}
