//! The cost of DPoP (RFC 9449) and of pushed authorization requests (RFC 9126): each flow with and without them, in
//! turn.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use super::bounds;
use super::flows::PushedSignIn;
use super::load::{Drive, Load, Requests};
use super::proofs::{ProvenRefreshing, Prover};
use super::server::Server;
use super::setup::{CODES, CONNECTIONS, LENGTH, Setup};
use super::subject::Subject;

/// The rounds of each comparison. There are more than for most others, because the differences are small.
const ROUNDS: usize = 12;
/// The refreshes with a proof in one round: as many as without one, so that their first requests weigh the same.
const REFRESHES: usize = 4000;
/// The UserInfo requests with a proof in one round.
const USER_INFOS: usize = 5000;

/// The goal for the additional CPU time with a proof, in bare ES256 verifications.
const PROOF_GOAL: f64 = 2.0;
/// The goal for the throughput of sign-ins with a pushed request, in percent of that without.
const PUSH_GOAL: f64 = 80.0;

/// The loads of a flow without and with the protection.
#[derive(Default)]
struct Comparison {
    without: Load,
    with: Load,
}

impl Comparison {
    fn add(&mut self, without: Load, with: Load) {
        self.without += without;
        self.with += with;
    }

    /// Returns the CPU time of an answer without and with the protection, in microseconds.
    fn micros_each(&self) -> [f64; 2] {
        [self.without, self.with]
            .map(|load| 1e6 * load.server_cpu.as_secs_f64() / load.answers as f64)
    }

    /// Returns the CPU times and how busy the core was, in words.
    fn details(&self) -> String {
        let [without, with] = self.micros_each();
        let busy = [self.without, self.with]
            .map(|load| 100.0 * load.server_cpu.as_secs_f64() / load.took.as_secs_f64());
        format!(
            "{with:.0} instead of {without:.0} µs of CPU each, core {:.0}% instead of {:.0}% busy",
            busy[1], busy[0]
        )
    }
}

/// Compares requests with and without a DPoP proof. The measure is the CPU time of the server for an answer.
pub async fn compare_proofs(server: &Server, setup: &Setup) {
    let proven = ProvenClient::new(server, setup).await;
    let [mut exchange, mut refresh, mut user_info] = [(); 3].map(|()| Comparison::default());
    let mut verifications = Load::default();
    for _ in 0..ROUNDS {
        verifications += bounds::es256_verifications(LENGTH).await;
        let without = async |subject| setup.drive(server, subject, CONNECTIONS).await;
        exchange.add(
            without(Subject::CodeExchange).await,
            proven.exchange().await,
        );
        refresh.add(without(Subject::Refresh).await, proven.refresh().await);
        user_info.add(without(Subject::UserInfo).await, proven.user_info().await);
    }
    let verification = 1e6 / verifications.per_second();
    println!("  ES256 verification     {verification:>6.1} µs");
    for (subject, comparison) in [
        (Subject::CodeExchange, exchange),
        (Subject::Refresh, refresh),
        (Subject::UserInfo, user_info),
    ] {
        let [without, with] = comparison.micros_each();
        println!(
            "  {:<22} {:>6.2} verifications more with DPoP (goal: at most {PROOF_GOAL:.1} verifications more), {}",
            subject.name(),
            (with - without) / verification,
            comparison.details(),
        );
    }
}

/// Compares sign-ins with a session and a pushed request with those without one. The client authenticates by
/// `client_secret_basic` in both.
pub async fn compare_pushed_requests(server: &Server, setup: &Setup) {
    let mut comparison = Comparison::default();
    for _ in 0..ROUNDS {
        comparison.add(
            setup.sign_ins(server).await,
            pushed_sign_ins(server, setup).await,
        );
    }
    println!(
        "  {:<22} {:>6.1}% of the throughput with PAR (goal: at least {PUSH_GOAL:.0}%), {:.0} instead of {:.0} a \
         second, {}",
        Subject::SessionSignIn.name(),
        100.0 * comparison.with.per_second() / comparison.without.per_second(),
        comparison.with.per_second(),
        comparison.without.per_second(),
        comparison.details(),
    );
}

async fn pushed_sign_ins(server: &Server, setup: &Setup) -> Load {
    let request = setup.application.request(&[]);
    let (_, parameters) = request.split_once('?').expect("a query");
    let push = Rc::from(setup.post("/oidc/par").with(parameters));
    let callers = setup.cookies().map(|cookies| PushedSignIn {
        push: Rc::clone(&push),
        address: setup.address,
        cookies: cookies.to_owned(),
        client_id: setup.application.id.clone(),
        sign_in: setup.sign_in(String::new()),
        is_pushed: false,
    });
    let cpu = || server.cpu();
    drive(server, &cpu).run(callers.collect(), LENGTH).await.0
}

/// An application whose requests have a proof.
struct ProvenClient<'a> {
    server: &'a Server,
    setup: &'a Setup,
    prover: Prover,
    /// One access token for each connection, bound to the key of the prover.
    tokens: Vec<String>,
}

impl<'a> ProvenClient<'a> {
    async fn new(server: &'a Server, setup: &'a Setup) -> Self {
        let (prover, cpu) = (Prover::new(&server.base), || server.cpu());
        let drive = drive(server, &cpu);
        let tokens = setup.exchanged_tokens(&drive, CONNECTIONS, Some(&prover));
        Self {
            tokens: tokens.await,
            server,
            setup,
            prover,
        }
    }

    async fn exchange(&self) -> Load {
        self.send(self.setup.exchanges(CODES, Some(&self.prover)).await)
            .await
    }

    async fn refresh(&self) -> Load {
        let proof = || self.prover.header("POST", "/oidc/token", None);
        let proofs = (0..REFRESHES).map(|_| proof()).collect();
        let proofs = Rc::new(RefCell::new(proofs));
        let callers = self.setup.refreshing().into_iter();
        let callers = callers.map(|refreshing| ProvenRefreshing {
            refreshing,
            proofs: Rc::clone(&proofs),
        });
        let cpu = || self.server.cpu();
        let drive = drive(self.server, &cpu);
        let (load, refreshed) = drive.run(callers.collect(), Duration::MAX).await;
        let refreshed = refreshed.into_iter().map(|proven| proven.refreshing);
        self.setup.store_refreshed(refreshed.collect());
        load
    }

    async fn user_info(&self) -> Load {
        let tokens = self.tokens.iter().cycle().take(USER_INFOS);
        let requests = tokens.map(|token| {
            let proof = self.prover.header("GET", "/oidc/me", Some(token));
            format!(
                "GET /oidc/me HTTP/1.1\r\nHost: {}\r\nAuthorization: DPoP {token}\r\n{proof}\r\n",
                self.server.address
            )
        });
        self.send(requests.collect()).await
    }

    /// Sends each of these requests once.
    async fn send(&self, requests: Vec<String>) -> Load {
        let callers = vec![Requests::new(requests); CONNECTIONS];
        let cpu = || self.server.cpu();
        let drive = drive(self.server, &cpu);
        drive.run(callers, Duration::MAX).await.0
    }
}

fn drive<'a>(server: &Server, cpu: &'a dyn Fn() -> Duration) -> Drive<'a> {
    Drive {
        address: server.address,
        cpu,
        connections: CONNECTIONS,
    }
}
