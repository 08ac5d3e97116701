//! Many polls that wait: they share a few statements, while they wait and when they begin again. `scripts/bench
//! waiting` measures twenty times as many.

use std::cell::Cell;
use std::time::{Duration, Instant};

use assent_test_macros::both_databases;
use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use reqwest::{Client, StatusCode};
use serde_json::Value;
use tokio::time::sleep;

use super::{GRANT, ask, start_with};
use crate::harness::{
    Application, Database, Respond, Statements, TestHost, TestUser, Text, allow_open_files,
    http_client, in_time,
};

/// The requests of the crowd. Ada has one more.
const CROWD: usize = 499;
const REQUESTS_EACH: usize = 100;
const SETTINGS: &str = "[oidc.backchannel]\ninterval = \"1s\"\nopen_requests = 100\ndenial_pause = \"0s\"\n\
                        requests_per_client = { per_minute = 0, burst = 1 }\n\
                        requests_per_user = { per_minute = 0, burst = 1 }\n";
/// The wait of a poll, and the pause before the next one: longer than the interval, because the clock of the instance
/// follows in steps.
const WAIT: &str = "wait=10";
const PAUSE: Duration = Duration::from_millis(1500);
/// The time in which each poll begins again.
const CYCLE: Duration = Duration::from_secs(12);
/// The goals.
const MOST_A_SECOND: f64 = 20.0;
const PROMPT: Duration = Duration::from_secs(1);

/// A client that polls for one request.
struct Waiting {
    auth_req_id: String,
    /// The time at which the poll began that waits now.
    since: Cell<Option<Instant>>,
}

impl Waiting {
    /// Asks for the user with this name.
    async fn begin(host: &TestHost, application: &Application, name: &str) -> Self {
        let changes = [
            ("login_hint", Some(name)),
            ("requested_expiry", Some("600")),
        ];
        let (status, answer) = ask(&host.base, application, &changes).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        Self {
            auth_req_id: answer["auth_req_id"].text().to_owned(),
            since: Cell::new(None),
        }
    }

    /// Polls until the client receives tokens, and returns the time of that.
    async fn poll(&self, host: &TestHost, client: &Client, application: &Application) -> Instant {
        let form = [("grant_type", GRANT), ("auth_req_id", &self.auth_req_id)];
        loop {
            self.since.set(Some(Instant::now()));
            let response = client
                .post(format!("{}/oidc/token", host.base))
                .form(&form)
                .basic_auth(&application.id, application.secret.as_ref())
                .header("prefer", WAIT)
                .response()
                .await;
            self.since.set(None);
            if response.status() == StatusCode::OK {
                return Instant::now();
            }
            let answer: Value = response.json().await.expect("JSON");
            assert_eq!(answer["error"], "authorization_pending");
            sleep(PAUSE).await;
        }
    }

    /// Waits until a poll has been waiting for a while, and will do so for longer.
    async fn until_in_a_poll(&self) {
        let is_within = |since: Instant| (2..6).contains(&since.elapsed().as_secs());
        let reached = async {
            while !self.since.get().is_some_and(is_within) {
                sleep(Duration::from_millis(20)).await;
            }
        };
        in_time(reached).await;
    }
}

/// Asks for several users, many times each.
async fn crowd(host: &TestHost, application: &Application) -> Vec<Waiting> {
    let mut names = Vec::new();
    for number in 0..CROWD.div_ceil(REQUESTS_EACH) {
        let name = format!("grace{number}");
        let user = host.user(&name).await;
        host.account(&user, application).await;
        names.push(name);
    }
    let asked = (0..CROWD).map(|number| {
        let name = &names[number / REQUESTS_EACH];
        Waiting::begin(host, application, name)
    });
    stream::iter(asked).buffer_unordered(8).collect().await
}

/// Measures the statements of a cycle, and approves Ada's request. Returns the statements a second, with their texts,
/// and the time of the approval.
async fn measure(
    statements: &Statements,
    ada: &TestUser,
    waiting: &Waiting,
) -> ((f64, Vec<String>), Instant) {
    // Each poll has begun by then.
    sleep(CYCLE).await;
    let (begun, before) = (Instant::now(), statements.executed().len());
    sleep(CYCLE).await;
    let took = begun.elapsed().as_secs_f64();
    let executed = statements.executed().split_off(before);
    let count = u32::try_from(executed.len()).expect("few");
    waiting.until_in_a_poll().await;
    let request = super::pending(&ada.device).await;
    assert_eq!(ada.device.approve(&request, "").await, "approved");
    ((f64::from(count) / took, executed), Instant::now())
}

/// A poll costs statements of its own only when the request is decided. Without this a poll would cost four.
#[both_databases]
async fn five_hundred_waiting_polls_cost_twenty_statements_a_second(database: Database) {
    // The client and the server of each connection are here.
    allow_open_files(4096);
    let statements = Statements::capture();
    let (host, ada) = start_with(database, SETTINGS).await;
    let application = &ada.application;
    let others = crowd(&host, application).await;
    let own = Waiting::begin(&host, application, "ada").await;
    let client = http_client();
    let polls = others.iter().enumerate().map(async |(number, waiting)| {
        let share = u32::try_from(number).expect("few") * 10 / u32::try_from(CROWD).expect("few");
        sleep(Duration::from_secs(u64::from(share))).await;
        waiting.poll(&host, &client, application).await
    });
    let measured = async {
        tokio::join!(
            measure(&statements, &ada, &own),
            own.poll(&host, &client, application)
        )
    };
    let (((rate, executed), approved), received) = tokio::select! {
        _ = join_all(polls) => panic!("nothing else was decided"),
        () = host.keep_time() => panic!("the time never ends"),
        measured = Box::pin(measured) => measured,
    };
    println!("{database:?}: {rate:.1} statements a second");
    assert!(rate <= MOST_A_SECOND, "{database:?}: {rate}: {executed:#?}");
    let took = received.saturating_duration_since(approved);
    assert!(took < PROMPT, "{database:?}: {took:?}");
}
