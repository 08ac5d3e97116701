//! The throughput of the endpoints that applications call, on one core. Each answer is durable before it is sent.
//!
//! `scripts/bench` runs all measurements, and `scripts/bench sqlite refresh` runs a part. The real `assent` has the
//! first core; this program and PostgreSQL share the second. Each round also measures the bounds of any such server on
//! the same core: a bare RSA-2048 signature, and a form that is posted to axum, read, and answered with one word.
//! Compare the shares of these two bounds between machines.
//!
//! `scripts/bench --connections=32` measures with fewer connections than the usual 64.
//!
//! Then it compares PostgreSQL behind a network with a round trip of half a millisecond with SQLite, and a database
//! with the history of a large installation with an empty one. It also compares two instances with one, each with the
//! same share of the core. Last, it compares instances that export traces with one that does not.

mod bounds;
mod delay;
mod flows;
mod growth;
mod load;
mod quota;
mod server;

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use assent_tests::harness::{Admin, Application, Browser, Database, DatabaseUrl, VERIFIER};
use reqwest::Method;
use serde_json::{Value, json};

use bounds::FormPost;
use flows::{SamlSignOn, SessionSignIn};
use load::{Exchanging, Load, Refreshing, Requests, Same};
use server::Server;

/// The most connections that each send one request after the other.
const CONNECTIONS: usize = 64;
/// The rounds of each measurement. The measurements take turns.
const ROUNDS: u32 = 5;
/// The rounds of each measurement with one connection.
const LONELY_ROUNDS: u32 = 2;
/// The duration of one measurement.
const LENGTH: Duration = Duration::from_millis(1500);
/// The number of exchanged codes in one round.
const CODES: usize = 1000;
/// The signed-in users, one for each connection, because two browsers have no common session.
const PEOPLE: usize = CONNECTIONS;

/// The entity ID of the SAML service provider.
const SP: &str = "https://sp.example/saml";

/// A measured endpoint or flow.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Subject {
    SessionSignIn,
    CodeExchange,
    Refresh,
    SamlSignOn,
    SamlMetadata,
    Introspection,
    UserInfo,
    FirstUserInfo,
    ClientCredentials,
    Discovery,
    KeySet,
}

/// The bound of an endpoint on the same core.
#[derive(Clone, Copy, PartialEq)]
enum Bound {
    /// The cost of this number of RSA-2048 signatures.
    Signatures(f64),
    /// A trivial form POST.
    Post,
    /// A trivial GET.
    Get,
}

impl Subject {
    const ALL: [Self; 11] = [
        Self::SessionSignIn,
        Self::CodeExchange,
        Self::Refresh,
        Self::SamlSignOn,
        Self::SamlMetadata,
        Self::Introspection,
        Self::UserInfo,
        Self::FirstUserInfo,
        Self::ClientCredentials,
        Self::Discovery,
        Self::KeySet,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::SessionSignIn => "sign-in with a session",
            Self::CodeExchange => "code exchange, RS256",
            Self::Refresh => "refresh",
            Self::SamlSignOn => "SAML sign-on",
            Self::SamlMetadata => "SAML metadata",
            Self::Introspection => "introspection",
            Self::UserInfo => "UserInfo",
            Self::FirstUserInfo => "UserInfo, asked once",
            Self::ClientCredentials => "client_credentials",
            Self::Discovery => "discovery",
            Self::KeySet => "JWKS",
        }
    }

    const fn bound(self) -> Bound {
        match self {
            Self::SessionSignIn | Self::CodeExchange | Self::Refresh => Bound::Signatures(1.0),
            Self::SamlSignOn => Bound::Signatures(2.0),
            Self::Introspection
            | Self::UserInfo
            | Self::FirstUserInfo
            | Self::ClientCredentials => Bound::Post,
            Self::SamlMetadata | Self::Discovery | Self::KeySet => Bound::Get,
        }
    }

    /// Returns the goal, if there is one: the share of the bound, in percent.
    const fn goal(self) -> Option<f64> {
        Some(match self {
            Self::SessionSignIn => 40.0,
            Self::Refresh => 55.0,
            Self::SamlSignOn => 50.0,
            Self::Introspection => 27.0,
            Self::UserInfo => 30.0,
            Self::ClientCredentials => 28.0,
            Self::SamlMetadata => 70.0,
            Self::Discovery | Self::KeySet => 74.0,
            Self::CodeExchange | Self::FirstUserInfo => return None,
        })
    }
}

/// The goal for the throughput on PostgreSQL behind a network, in percent of that on SQLite.
const DISTANT_GOAL: f64 = 85.0;

fn main() {
    if bounds::is_selected() {
        return bounds::run();
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let mut on_sqlite = HashMap::new();
        for backend in Backend::ALL {
            let subjects: Vec<Subject> = Subject::ALL
                .into_iter()
                .filter(|subject| is_selected(&format!("{backend:?} {}", subject.name())))
                .collect();
            if subjects.is_empty() {
                continue;
            }
            let loads = measure(backend, &subjects).await;
            match backend {
                Backend::Sqlite => on_sqlite = loads,
                Backend::Postgres | Backend::DistantPostgres => compare(&on_sqlite, &loads),
            }
        }
        for backend in [Backend::Sqlite, Backend::Postgres] {
            if is_selected(&format!("growth {backend:?}")) {
                measure_growth(backend).await;
            }
        }
        if is_selected("instances") {
            measure_instances().await;
        }
        if is_selected("tracing") {
            measure_tracing().await;
        }
    });
}

/// The database of the server.
#[derive(Clone, Copy, Debug)]
enum Backend {
    Sqlite,
    /// PostgreSQL by its socket.
    Postgres,
    /// PostgreSQL by TCP, with a round trip of half a millisecond.
    DistantPostgres,
}

impl Backend {
    const ALL: [Self; 3] = [Self::Sqlite, Self::Postgres, Self::DistantPostgres];

    /// Creates a fresh database, and returns its URL.
    async fn create(self, folder: &std::path::Path) -> DatabaseUrl {
        match self {
            Self::Sqlite => Database::Sqlite.create(folder).await,
            Self::Postgres => Database::Postgres.create(folder).await,
            Self::DistantPostgres => {
                let url = Database::Postgres.create(folder).await;
                let port = delay::start(url.socket());
                url.behind(port)
            }
        }
    }
}

/// The loads of a subject with many connections, and with one.
#[derive(Clone, Copy, Default)]
struct Loads {
    many: Load,
    one: Load,
    /// The commits with many connections, and the writes in them.
    commits: f64,
    writes: f64,
}

/// Prints the throughput of each subject as a share of its throughput on SQLite, and the difference of the time of an
/// answer with one connection.
fn compare(on_sqlite: &HashMap<Subject, Loads>, loads: &HashMap<Subject, Loads>) {
    let of_requests = |subject: &Subject| subject.bound() != Bound::Get;
    for subject in Subject::ALL.iter().filter(|subject| of_requests(subject)) {
        if let (Some(sqlite), Some(loads)) = (on_sqlite.get(subject), loads.get(subject)) {
            println!(
                "  {:<22} {:>6.1}% of SQLite (goal {DISTANT_GOAL}% behind a network), with one connection {:+.2} ms",
                subject.name(),
                100.0 * loads.many.per_second() / sqlite.many.per_second(),
                loads.one.millis_each() - sqlite.one.millis_each(),
            );
        }
    }
}

/// The share of the core that each instance may use, in percent. It is so small that neither the caller nor PostgreSQL,
/// which share the other core, limits the throughput.
const SHARE: u32 = 20;

/// Compares two instances with one, by sign-ins with a session.
async fn measure_instances() {
    println!("\nInstances on PostgreSQL, each with {SHARE}% of a core");
    let quotas = ["one", "two"].map(|name| quota::Quota::new(name, SHARE));
    let [Some(first_quota), Some(second_quota)] = quotas else {
        println!(
            "  not measured: this machine lets us create no control group with a share of a processor"
        );
        return;
    };
    let folders =
        [tempfile::tempdir(), tempfile::tempdir()].map(|folder| folder.expect("a folder"));
    let [first_folder, second_folder] = [folders[0].path(), folders[1].path()];
    let url = Database::Postgres.create(first_folder).await;
    let first = Server::start(first_folder, url.url()).await;
    let setup = Setup::prepare(&first, first_folder).await;
    let key = "master.key";
    std::fs::copy(first_folder.join(key), second_folder.join(key)).expect("the key");
    let second = first.start_beside(second_folder, url.url()).await;
    first_quota.add(first.id()).expect("moved");
    second_quota.add(second.id()).expect("moved");
    let (mut single, mut both) = (Load::default(), [Load::default(); 2]);
    for _ in 0..ROUNDS {
        single += setup.sign_ins(&first).await;
        let loads = tokio::join!(setup.sign_ins(&first), setup.sign_ins(&second));
        both[0] += loads.0;
        both[1] += loads.1;
    }
    let busy = |load: &Load| 100.0 * load.server_cpu.as_secs_f64() / load.took.as_secs_f64();
    let together = both[0].per_second() + both[1].per_second();
    println!(
        "  one instance           {:>9.0} a second, {:.0}% of a core",
        single.per_second(),
        busy(&single),
    );
    println!(
        "  two instances          {together:>9.0} a second, {:.0}% and {:.0}% of a core: {:.2} times (goal 1.9)",
        busy(&both[0]),
        busy(&both[1]),
        together / single.per_second(),
    );
}

/// Compares a database that has the history of a large installation with one that has none.
async fn measure_growth(backend: Backend) {
    println!(
        "\nGrowth on {backend:?}: {} token families and {} audit entries",
        growth::FAMILIES,
        growth::ENTRIES
    );
    let folders =
        [tempfile::tempdir(), tempfile::tempdir()].map(|folder| folder.expect("a folder"));
    let [empty_folder, large_folder] = [folders[0].path(), folders[1].path()];
    let [empty_url, large_url] = [
        backend.create(empty_folder).await,
        backend.create(large_folder).await,
    ];
    let empty = Server::start(empty_folder, empty_url.url()).await;
    let large = Server::start(large_folder, large_url.url()).await;
    let mut stands = [
        Setup::prepare(&empty, empty_folder).await,
        Setup::prepare(&large, large_folder).await,
    ];
    growth::add_history(&large_url).await;
    for (server, stand) in [&empty, &large].iter().zip(&mut stands) {
        stand.renew_tokens(server).await;
    }
    for subject in Subject::ALL {
        if subject.bound() == Bound::Get {
            continue;
        }
        let mut loads = [Load::default(); 2];
        for _ in 0..ROUNDS {
            for ((server, stand), load) in [&empty, &large].iter().zip(&stands).zip(&mut loads) {
                *load += stand.drive(server, subject, CONNECTIONS).await;
            }
        }
        let cpu = |load: &Load| load.server_cpu.as_secs_f64() / load.answers as f64;
        println!(
            "  {:<22} {:>6.1}% of the throughput (goal 95%), {:+.1}% CPU",
            subject.name(),
            100.0 * loads[1].per_second() / loads[0].per_second(),
            100.0 * (cpu(&loads[1]) / cpu(&loads[0]) - 1.0),
        );
    }
    println!(
        "  resident               {:>6.1} MiB, {:.1} without the history",
        large.peak_mib(),
        empty.peak_mib()
    );
}

/// The rounds that compare instances with and without traces. There are more than for other comparisons, because the
/// difference is small.
const TRACING_ROUNDS: usize = 12;

/// Compares instances that export traces and metrics with one that does not. The measure is the CPU time per request at
/// the token endpoint.
async fn measure_tracing() {
    println!("\nTraces, on PostgreSQL");
    let collector = FormPost::start().await;
    let folders = [(); 3].map(|()| tempfile::tempdir().expect("a folder"));
    let [first, second, third] = [0, 1, 2].map(|index: usize| folders[index].path());
    let url = Database::Postgres.create(first).await;
    let without = Server::start(first, url.url()).await;
    let setup = Setup::prepare(&without, first).await;
    let settings = |share: &str| {
        let address = collector.address;
        format!("[telemetry]\notlp_endpoint = \"http://{address}/\"\ntraced_share = {share}\n")
    };
    for folder in [second, third] {
        std::fs::copy(first.join("master.key"), folder.join("master.key")).expect("the key");
    }
    let few = without
        .start_beside_with(second, url.url(), &settings("0.02"))
        .await;
    let all = without
        .start_beside_with(third, url.url(), &settings("1.0"))
        .await;
    for subject in [
        Subject::CodeExchange,
        Subject::Refresh,
        Subject::ClientCredentials,
    ] {
        let mut loads = [Load::default(); 3];
        for _ in 0..TRACING_ROUNDS {
            for (server, load) in [&without, &few, &all].into_iter().zip(&mut loads) {
                *load += setup.drive(server, subject, CONNECTIONS).await;
            }
        }
        let [none, few, all] =
            loads.map(|load| load.server_cpu.as_secs_f64() / load.answers as f64);
        println!(
            "  {:<22} {:>6.1}% more CPU with a fiftieth of the requests (goal 5%), {:.1}% with all",
            subject.name(),
            100.0 * (few / none - 1.0),
            100.0 * (all / none - 1.0),
        );
    }
}

/// Returns whether the command line selects this name: the name must contain all words of the command line.
fn is_selected(called: &str) -> bool {
    let called = called.to_lowercase();
    std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .all(|word| called.contains(&word.to_lowercase()))
}

/// Returns the number of connections that the command line asks for.
fn asked_connections() -> usize {
    let asked =
        std::env::args().find_map(|word| Some(word.strip_prefix("--connections=")?.parse()));
    let asked = asked.map_or(CONNECTIONS, |number| {
        number.expect("a number of connections")
    });
    assert!(
        (1..=CONNECTIONS).contains(&asked),
        "1 to {CONNECTIONS} connections"
    );
    asked
}

async fn measure(backend: Backend, subjects: &[Subject]) -> HashMap<Subject, Loads> {
    let folder = tempfile::tempdir().expect("a folder");
    let url = backend.create(folder.path()).await;
    // The first start creates keys and tables. The second start is like a restart by an operator.
    drop(Server::start(folder.path(), url.url()).await);
    let server = Server::start(folder.path(), url.url()).await;
    println!("\n{backend:?}");
    println!(
        "  cold start to first answer {:>8.0?}   (goal 100ms)",
        server.started_in
    );
    println!(
        "  resident, idle             {:>8.1} MiB (goal 40)",
        server.resident_mib()
    );
    let stand = Setup::prepare(&server, folder.path()).await;
    let trivial = FormPost::start().await;
    let connections = asked_connections();
    let form_posts = load::Drive {
        address: trivial.address,
        cpu: &|| Duration::ZERO,
        connections,
    };
    let mut totals: HashMap<Subject, Loads> = HashMap::new();
    let (mut rsa, mut post, mut get) = (Load::default(), Load::default(), Load::default());
    for _ in 0..ROUNDS {
        rsa += bounds::rsa_signatures(LENGTH).await;
        post += form_posts
            .run(same(&stand.client_credentials()), LENGTH)
            .await
            .0;
        get += form_posts.run(same(&stand.get("/trivial")), LENGTH).await.0;
        for &subject in subjects {
            let loads: &mut Loads = totals.entry(subject).or_default();
            let before = server.commits().await;
            loads.many += stand.drive(&server, subject, connections).await;
            let after = server.commits().await;
            loads.commits += after.0 - before.0;
            loads.writes += after.1 - before.1;
        }
    }
    for _ in 0..LONELY_ROUNDS {
        for &subject in subjects {
            totals.entry(subject).or_default().one += stand.drive(&server, subject, 1).await;
        }
    }
    println!(
        "  resident, under load       {:>8.1} MiB (goal 60)",
        server.peak_mib()
    );
    println!(
        "  sign-in with the phone     {:>8} µs of CPU each, one at a time",
        stand.phone_sign_in_cpu.as_micros()
    );
    println!(
        "  {:<22} {:>9.0} a second",
        "RSA-2048 signature",
        rsa.per_second()
    );
    println!(
        "  {:<22} {:>9.0} a second",
        "trivial form POST",
        bounds::per_second_without_work(&post)
    );
    println!(
        "  {:<22} {:>9.0} a second",
        "trivial GET",
        bounds::per_second_without_work(&get)
    );
    for subject in subjects {
        let Loads {
            many: load,
            one,
            commits,
            writes,
        } = totals[subject];
        let bound = match subject.bound() {
            Bound::Signatures(count) => rsa.per_second() / count,
            Bound::Post => bounds::per_second_without_work(&post),
            Bound::Get => bounds::per_second_without_work(&get),
        };
        println!(
            "  {:<22} {:>9.0} a second {:>6.1}% of its bound{}, {:>4.0} µs of CPU each, core {:>3.0}% busy; \
             {:.1} writes a commit; one connection: {:.2} ms, {:.0} µs of CPU each",
            subject.name(),
            load.per_second(),
            100.0 * load.per_second() / bound,
            subject
                .goal()
                .map_or_else(String::new, |goal| format!(" (goal {goal}%)")),
            1e6 * load.server_cpu.as_secs_f64() / load.answers as f64,
            100.0 * load.server_cpu.as_secs_f64() / load.took.as_secs_f64(),
            writes / f64::max(commits, 1.0),
            one.millis_each(),
            1e6 * one.server_cpu.as_secs_f64() / one.answers as f64,
        );
    }
    totals
}

fn same(request: &str) -> Vec<Same> {
    vec![Same(request.into()); CONNECTIONS]
}

/// The signed-in users, and the application that they signed in to.
struct Setup {
    address: std::net::SocketAddr,
    application: Application,
    service_provider: Value,
    browsers: Vec<Browser>,
    /// The CPU time of the server's core for one sign-in with the phone, one at a time.
    phone_sign_in_cpu: Duration,
    cookies: Vec<String>,
    /// One token for each connection.
    access_tokens: Vec<String>,
    /// One token for each connection.
    refresh_tokens: RefCell<Vec<String>>,
}

impl Setup {
    async fn prepare(server: &Server, folder: &std::path::Path) -> Self {
        let admin = Admin {
            base: server.base.clone(),
            token: server.admin_token(folder).await,
        };
        let application = admin.web_application().await;
        let service_provider = admin
            .admin_ok(
                Method::POST,
                "/applications",
                json!({
                    "protocol": "saml",
                    "name": "Engines",
                    "entity_id": SP,
                    "acs": [{"url": "https://sp.example/acs"}],
                }),
            )
            .await;
        let engines = Application {
            id: service_provider["id"].as_str().expect("an id").to_owned(),
            secret: None,
            redirect_uri: String::new(),
        };
        let mut users = Vec::new();
        for number in 0..PEOPLE {
            let user = admin
                .user_with_account(&format!("person{number}"), application.clone())
                .await;
            admin.account(&user.user, &engines).await;
            users.push((user, Browser::new(&server.base)));
        }
        let before = server.cpu();
        for (user, browser) in &users {
            user.sign_in(browser).await;
        }
        let phone_sign_in_cpu = (server.cpu() - before) / u32::try_from(PEOPLE).expect("few");
        let mut setup = Self {
            address: server.address,
            application,
            service_provider,
            cookies: users
                .iter()
                .map(|(_, browser)| browser.cookie_header())
                .collect(),
            phone_sign_in_cpu,
            browsers: users.into_iter().map(|(_, browser)| browser).collect(),
            access_tokens: Vec::new(),
            refresh_tokens: RefCell::default(),
        };
        setup.renew_tokens(server).await;
        setup
    }

    /// Replaces the tokens by new ones, because access tokens expire after some minutes.
    async fn renew_tokens(&mut self, server: &Server) {
        self.access_tokens.clear();
        self.refresh_tokens.borrow_mut().clear();
        for browser in self.browsers.iter().cycle().take(CONNECTIONS) {
            let tokens = tokens(&self.application, browser, &server.base).await;
            let token = |name: &str| tokens[name].as_str().expect("a token").to_owned();
            self.access_tokens.push(token("access_token"));
            self.refresh_tokens
                .borrow_mut()
                .push(token("refresh_token"));
        }
    }

    async fn drive(&self, server: &Server, subject: Subject, connections: usize) -> Load {
        let drive = load::Drive {
            address: server.address,
            cpu: &|| server.cpu(),
            connections,
        };
        match subject {
            Subject::CodeExchange => {
                let requests = Requests::new(self.exchanges().await);
                drive
                    .run(vec![requests; CONNECTIONS], Duration::MAX)
                    .await
                    .0
            }
            Subject::SessionSignIn => self.sign_ins_by(&drive).await,
            Subject::SamlSignOn => {
                let id = self.service_provider["id"].as_str().expect("an id");
                let callers = self.cookies().map(|cookies| SamlSignOn {
                    address: self.address,
                    cookies: cookies.to_owned(),
                    path: format!("/sso/SingleSignOnService/{id}"),
                    issuer: SP.to_owned(),
                    next: None,
                });
                drive.run(callers.collect(), LENGTH).await.0
            }
            Subject::SamlMetadata => {
                let id = self.service_provider["id"].as_str().expect("an id");
                let request = self.get(&format!("/sso/metadata/{id}"));
                drive.run(same(&request), LENGTH).await.0
            }
            Subject::Discovery => {
                let request = self.get("/oidc/.well-known/openid-configuration");
                drive.run(same(&request), LENGTH).await.0
            }
            Subject::KeySet => drive.run(same(&self.get("/oidc/jwks")), LENGTH).await.0,
            Subject::Refresh => {
                let tokens = self.refresh_tokens.take();
                let refreshing = tokens.into_iter().map(|token| Refreshing {
                    token,
                    post: self.post("/oidc/token"),
                });
                let (load, refreshed) = drive.run(refreshing.collect(), LENGTH).await;
                self.refresh_tokens.replace(
                    refreshed
                        .into_iter()
                        .map(|refreshing| refreshing.token)
                        .collect(),
                );
                load
            }
            Subject::Introspection => {
                let post = self.post("/oidc/token/introspection");
                let requests = self
                    .access_tokens
                    .iter()
                    .map(|token| Same(post.with(&format!("token={token}")).into()));
                drive.run(requests.collect(), LENGTH).await.0
            }
            Subject::UserInfo => {
                let requests = self.access_tokens.iter();
                let requests = requests.map(|token| Same(self.user_info(token).into()));
                drive.run(requests.collect(), LENGTH).await.0
            }
            Subject::FirstUserInfo => {
                let requests = Requests::new(self.exchanges().await);
                let exchanging = vec![Exchanging::new(requests); CONNECTIONS];
                let (_, exchanged) = drive.run(exchanging, Duration::MAX).await;
                let tokens = exchanged.iter().flat_map(|exchanging| &exchanging.tokens);
                let requests = tokens.map(|token| self.user_info(token)).collect();
                let requests = vec![Requests::new(requests); CONNECTIONS];
                drive.run(requests, Duration::MAX).await.0
            }
            Subject::ClientCredentials => {
                drive.run(same(&self.client_credentials()), LENGTH).await.0
            }
        }
    }

    /// Measures sign-ins with a session at this instance.
    async fn sign_ins(&self, server: &Server) -> Load {
        self.drive(server, Subject::SessionSignIn, CONNECTIONS)
            .await
    }

    async fn sign_ins_by(&self, drive: &load::Drive<'_>) -> Load {
        let request = self.application.request(&[]);
        let callers = self.cookies().map(|cookies| SessionSignIn {
            request: self.get_with(&request, cookies).into(),
            post: self.post("/oidc/token"),
            redirect_uri: self.application.redirect_uri.clone(),
            code: None,
        });
        drive.run(callers.collect(), LENGTH).await.0
    }

    fn user_info(&self, token: &str) -> String {
        let head = format!("GET /oidc/me HTTP/1.1\r\nHost: {}", self.address);
        format!("{head}\r\nAuthorization: Bearer {token}\r\n\r\n")
    }

    fn client_credentials(&self) -> String {
        self.post("/oidc/token")
            .with("grant_type=client_credentials")
    }

    fn get(&self, path: &str) -> String {
        format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address)
    }

    fn get_with(&self, path: &str, cookies: &str) -> String {
        format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nCookie: {cookies}\r\n\r\n",
            self.address
        )
    }

    /// Returns the cookies of a signed-in browser for each connection.
    fn cookies(&self) -> impl Iterator<Item = &str> {
        self.cookies
            .iter()
            .map(String::as_str)
            .cycle()
            .take(CONNECTIONS)
    }

    fn post(&self, path: &str) -> load::Post {
        let secret = self.application.secret.as_deref().expect("a secret");
        load::Post::new(self.address, path, &self.application.id, secret)
    }

    /// Returns requests that exchange new codes. The sessions return these codes without a prompt.
    async fn exchanges(&self) -> Vec<String> {
        let request = self.application.request(&[("prompt", Some("none"))]);
        let post = self.post("/oidc/token");
        let redirect =
            url::form_urlencoded::byte_serialize(self.application.redirect_uri.as_bytes());
        let redirect: String = redirect.collect();
        let mut requests = Vec::with_capacity(CODES);
        while requests.len() < CODES {
            let pages = futures_util::future::join_all(
                self.browsers.iter().map(|browser| browser.get(&request)),
            )
            .await;
            requests.extend(pages.iter().map(|page| {
                let code = page.parameter("code");
                post.with(&format!(
                    "grant_type=authorization_code&code={code}&redirect_uri={redirect}&code_verifier={VERIFIER}"
                ))
            }));
        }
        requests
    }
}

/// Returns the tokens of a new token family, with a refresh token.
async fn tokens(application: &Application, browser: &Browser, base: &str) -> Value {
    let changes = [
        ("scope", Some("openid profile email offline_access")),
        ("prompt", Some("consent")),
    ];
    let requested = browser
        .get(&application.request(&changes))
        .await
        .followed()
        .await;
    let code = requested.decide("allow").await.parameter("code");
    let (status, answer) = application.exchange(base, &code, &[]).await;
    assert!(status.is_success(), "{answer}");
    answer
}
