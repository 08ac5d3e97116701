//! Back-channel requests (OpenID CIBA Core 1.0) whose clients wait for the decision with long polls.

use std::cell::Cell;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use assent_tests::harness::{Admin, Application, TestUser, allow_open_files};
use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::load::{Connection, Post};
use super::server::Server;

/// The number of requests, and that of their users.
pub const REQUESTS: usize = 10_000;
const USERS: usize = 100;
/// The number of decisions that are measured.
const DECISIONS: usize = 20;
/// The settings of the server. An application asks each user a hundred times.
pub const SETTINGS: &str = "[oidc.backchannel]\nopen_requests = 100\ndenial_pause = \"0s\"\n\
                            requests_per_client = { per_minute = 0, burst = 1 }\n\
                            requests_per_user = { per_minute = 0, burst = 1 }\n";
const GRANT: &str = "urn:openid:params:grant-type:ciba";
const PREFERENCE: &str = "Prefer: wait=30\r\n";
/// The time between two polls: a little more than the interval.
const PAUSE: Duration = Duration::from_millis(5200);
/// The time in which each poll begins again.
const CYCLE: Duration = Duration::from_secs(36);
/// The duration of the measurement.
const LENGTH: Duration = Duration::from_secs(72);
/// The goals: statements a second, and mebibytes.
const MOST_STATEMENTS: f64 = 20.0;
const MOST_MEMORY: f64 = 150.0;

/// A request whose client polls.
struct Waiting {
    /// The poll.
    request: String,
    /// The time at which the poll began that waits now.
    since: Cell<Option<Instant>>,
    /// The time at which the client received its tokens.
    received: Cell<Option<Instant>>,
}

impl Waiting {
    /// Polls until the client receives its tokens.
    async fn poll(&self, address: SocketAddr) {
        let mut connection = Connection::open(address).await;
        loop {
            self.since.set(Some(Instant::now()));
            let response = connection.exchange(&self.request).await;
            self.since.set(None);
            if response.head.starts_with("HTTP/1.1 200 ") {
                return self.received.set(Some(Instant::now()));
            }
            let answer: Value = serde_json::from_slice(response.body).expect("JSON");
            assert_eq!(answer["error"], "authorization_pending", "{answer}");
            sleep(PAUSE).await;
        }
    }

    /// Whether the poll has been waiting for a while, and will do so for longer.
    fn is_in_a_poll(&self) -> bool {
        let is_within = |since: Instant| (2..20).contains(&since.elapsed().as_secs());
        self.since.get().is_some_and(is_within)
    }
}

/// The users, with the requests about them in the order of their numbers.
struct Crowd {
    users: Vec<TestUser>,
    waiting: Vec<Waiting>,
}

impl Crowd {
    async fn ask(server: &Server, folder: &Path) -> Self {
        let admin = Admin {
            base: server.base.clone(),
            token: server.admin_token(folder).await,
        };
        let application = admin.web_application().await;
        let path = format!("/applications/{}", application.id);
        let grants = json!({"grant_types": ["authorization_code", GRANT]});
        admin.admin_ok(Method::PATCH, &path, grants).await;
        let mut users = Vec::new();
        for number in 0..USERS {
            let name = format!("person{number}");
            users.push(admin.user_with_account(&name, application.clone()).await);
        }
        let asked = (0..USERS).map(|user| ask(server.address, &application, user));
        let asked: Vec<Vec<Waiting>> = stream::iter(asked).buffered(8).collect().await;
        Self {
            users,
            waiting: asked.into_iter().flatten().collect(),
        }
    }

    /// A device approves a request whose poll waits. Returns the time until the client has its tokens.
    async fn decide(&self, user: &TestUser) -> Duration {
        loop {
            let requests = user.device.pending_requests(5).await;
            let found = requests.iter().find_map(|request| {
                let shown = request.backchannel.as_ref()?.message.as_deref()?;
                let number: usize = shown.strip_prefix("Order ")?.parse().ok()?;
                let waiting = self.waiting.get(number)?;
                waiting.is_in_a_poll().then_some((request, waiting))
            });
            let Some((request, waiting)) = found else {
                sleep(Duration::from_millis(100)).await;
                continue;
            };
            let begun = Instant::now();
            user.device.approve(request, "").await;
            while waiting.received.get().is_none() {
                sleep(Duration::from_millis(1)).await;
            }
            let received = waiting.received.get().expect("the tokens");
            return received.saturating_duration_since(begun);
        }
    }
}

/// Asks for a user by one connection.
async fn ask(address: SocketAddr, application: &Application, user: usize) -> Vec<Waiting> {
    let secret = application.secret.as_deref().expect("a secret");
    let post = |path| Post::new(address, path, &application.id, secret);
    let (backchannel, token) = (post("/oidc/backchannel"), post("/oidc/token"));
    let mut connection = Connection::open(address).await;
    let mut waiting = Vec::new();
    let each = REQUESTS / USERS;
    for number in user * each..(user + 1) * each {
        let form = format!(
            "scope=openid&login_hint=person{user}&binding_message=Order+{number}&requested_expiry=600"
        );
        let response = connection.exchange(&backchannel.with(&form)).await;
        let answer: Value = serde_json::from_slice(response.body).expect("JSON");
        let id = answer["auth_req_id"].as_str();
        let id = id.unwrap_or_else(|| panic!("the server should accept the request: {answer}"));
        let form = format!("grant_type={GRANT}&auth_req_id={id}");
        waiting.push(Waiting {
            request: token.with_header(PREFERENCE, &form),
            since: Cell::new(None),
            received: Cell::new(None),
        });
    }
    waiting
}

/// Measures statements and memory while nothing is decided, and then the time until a decision arrives.
pub async fn measure(server: &Server, folder: &Path) {
    // Each client has a connection here.
    allow_open_files(REQUESTS as u64 + 1000);
    let crowd = Crowd::ask(server, folder).await;
    let before = server.proportional_mib();
    let polls = crowd
        .waiting
        .iter()
        .enumerate()
        .map(async |(number, waiting)| {
            sleep(CYCLE * u32::try_from(number).expect("few") / REQUESTS as u32).await;
            waiting.poll(server.address).await;
        });
    let measured = async {
        // Each poll has begun again by then.
        sleep(2 * CYCLE).await;
        let (begun, cpu, statements) = (Instant::now(), server.cpu(), server.statements().await);
        sleep(LENGTH).await;
        let took = begun.elapsed().as_secs_f64();
        let statements = (server.statements().await - statements) / took;
        let busy = 100.0 * (server.cpu() - cpu).as_secs_f64() / took;
        let memory = server.proportional_mib();
        let waiting = crowd.waiting.iter();
        let waiting = waiting.filter(|waiting| waiting.since.get().is_some());
        println!(
            "  {} polls wait at once; core {busy:.0}% busy",
            waiting.count()
        );
        println!("  statements             {statements:>9.1} a second (goal {MOST_STATEMENTS})");
        println!(
            "  memory (PSS)           {memory:>9.1} MiB (goal {MOST_MEMORY}), {before:.1} without the polls"
        );
        let mut times = Vec::new();
        for user in crowd.users.iter().take(DECISIONS) {
            times.push(crowd.decide(user).await);
        }
        let longest = times.iter().max().copied().unwrap_or_default();
        let mean = times.iter().sum::<Duration>() / DECISIONS as u32;
        println!(
            "  from a decision to its poll {:>4} ms, {} ms at most (goal 1 s)",
            mean.as_millis(),
            longest.as_millis()
        );
    };
    tokio::select! {
        _ = join_all(polls) => panic!("the other requests are not decided"),
        () = Box::pin(measured) => {}
    }
}
