//! Faults at the commits of a flow. A recording finds the commits. Then each fault hits each commit, in a separate run.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::{Either, join, select};
use std::pin::pin;
use tokio::time::{sleep, timeout};

use super::{Cluster, Flow, RunningFlow};
use crate::harness::{Commit, HeldCommit, in_time};

/// The time after a flow for its last commits, such as those of traces and of the audit log.
const LATE: Duration = Duration::from_secs(2);
/// The longest wait for a commit.
const MISSING: Duration = Duration::from_secs(10);
/// The duration of a fault after which the instance continues its work.
const SHORT: Duration = Duration::from_secs(1);
/// The same, but long enough that PostgreSQL ends the transaction.
const LONG: Duration = Duration::from_secs(4);

/// A fault at a COMMIT of the first instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The connections of the instance carry nothing for a second, and then everything.
    Freeze,
    /// The connections of the instance are reset, and the server does not receive the COMMIT.
    Reset,
    /// The server commits, and the connection is reset in place of the reply.
    DropReply,
    /// SIGSTOP before the server receives the COMMIT, and SIGCONT four seconds later.
    Stop,
    /// SIGKILL before the server receives the COMMIT.
    Kill,
    /// SIGKILL, and then the server commits.
    KillAfter,
}

impl Fault {
    pub const ALL: [Self; 6] = [
        Self::Freeze,
        Self::Reset,
        Self::DropReply,
        Self::Stop,
        Self::Kill,
        Self::KillAfter,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Freeze => "freeze",
            Self::Reset => "reset",
            Self::DropReply => "reply dropped",
            Self::Stop => "SIGSTOP",
            Self::Kill => "SIGKILL before",
            Self::KillAfter => "SIGKILL after",
        }
    }
}

/// A COMMIT of a flow: the first statement of its transaction that writes, and the number of earlier transactions of
/// the flow with that statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    statement: String,
    /// All statements of the transaction.
    pub statements: Vec<String>,
    skipped: usize,
}

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words: Vec<&str> = self.statement.split([' ', '(']).take(3).collect();
        write!(f, "{} #{}", words.join(" "), self.skipped + 1)
    }
}

/// Returns a name that no user has yet.
pub fn new_name() -> String {
    static USERS: AtomicU32 = AtomicU32::new(0);
    format!("user{}", USERS.fetch_add(1, Ordering::Relaxed))
}

/// Returns the commits of a flow at the first instance, in order.
pub async fn record(cluster: &Cluster, flow: Flow) -> Vec<Point> {
    cluster.route_to(0);
    let mut running = flow.prepare(cluster, &new_name()).await;
    sleep(LATE).await;
    let proxy = &cluster.instances[0].proxy;
    proxy.record();
    running.attempt().await.expect("without a fault");
    sleep(LATE).await;
    let points = points(&proxy.recorded());
    running.check(cluster).await;
    points
}

fn points(commits: &[Commit]) -> Vec<Point> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut points = Vec::new();
    for commit in commits {
        let statement = commit.first_write();
        let count = counts.entry(statement).or_default();
        points.push(Point {
            statement: statement.to_owned(),
            statements: commit.statements.clone(),
            skipped: *count,
        });
        *count += 1;
    }
    points
}

/// Runs a flow once with one fault. Returns the time until the other instance had signed a user in.
pub async fn run(cluster: &mut Cluster, flow: Flow, point: &Point, fault: Fault) -> Duration {
    cluster.route_to(0);
    cluster.renew_witness().await;
    let mut running = flow.prepare(cluster, &new_name()).await;
    sleep(LATE).await;
    let held = cluster.instances[0]
        .proxy
        .hold_commit_of(&point.statement, point.skipped);
    let held = {
        let mut first = pin!(async {
            // The fault drops the answer, or comes after it.
            let _ = running.attempt().await;
        });
        let held = timeout(MISSING, held);
        match select(&mut first, pin!(held)).await {
            Either::Left(((), held)) => held.await,
            Either::Right((held, _)) => held,
        }
    };
    let held = held
        .unwrap_or_else(|_| panic!("{} has no commit of {point}", flow.name()))
        .expect("the proxy runs");
    let began = Instant::now();
    cluster.route_to(1);
    let took = {
        let shared: &Cluster = cluster;
        let others = join(shared.expect_service(began), complete(&mut running));
        let (_, (took, ())) = join(inject(shared, fault, held), others).await;
        took
    };
    heal(cluster, fault).await;
    running.check(cluster).await;
    cluster.verify_audit_log().await;
    cluster.route_to(0);
    cluster.expect_service(Instant::now()).await;
    took
}

/// Takes the remaining steps at the other instance.
async fn complete(running: &mut RunningFlow) {
    let completed = async {
        while running.attempt().await.is_err() {
            sleep(Duration::from_millis(200)).await;
        }
    };
    in_time(completed).await;
}

async fn inject(cluster: &Cluster, fault: Fault, held: HeldCommit) {
    let first = &cluster.instances[0];
    match fault {
        Fault::Freeze => {
            first.proxy.freeze();
            sleep(SHORT).await;
            first.proxy.thaw();
            held.forward();
        }
        Fault::Reset => {
            held.refuse();
            first.proxy.reset();
        }
        Fault::DropReply => held.drop_reply(),
        Fault::Stop => {
            first.signal("STOP").await;
            sleep(LONG).await;
            held.forward();
            first.signal("CONT").await;
        }
        Fault::Kill => {
            first.signal("KILL").await;
            held.refuse();
        }
        Fault::KillAfter => {
            first.signal("KILL").await;
            held.forward();
        }
    }
}

/// Starts the instance again if the fault killed it.
async fn heal(cluster: &mut Cluster, fault: Fault) {
    if matches!(fault, Fault::Kill | Fault::KillAfter) {
        cluster.kill(0).await;
        cluster.start_instance(0, &[]).await;
    }
}
