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
//! same share of the core. It compares requests with a DPoP proof, and sign-ins with a pushed request, with those
//! without, and instances that export traces with one that does not. Last, it measures 10,000 back-channel requests
//! whose clients wait.

mod bounds;
mod delay;
mod flows;
mod growth;
mod load;
mod proofs;
mod quota;
mod security;
mod server;
mod setup;
mod subject;
mod waiting;

use std::collections::HashMap;
use std::time::Duration;

use assent_tests::harness::{Database, DatabaseUrl};

use bounds::FormPost;
use load::Load;
use server::Server;
use setup::{CONNECTIONS, LENGTH, Setup, same};
use subject::{Bound, Subject};

/// The rounds of each measurement. The measurements take turns.
const ROUNDS: u32 = 5;
/// The rounds of each measurement with one connection.
const LONELY_ROUNDS: u32 = 2;

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
        for backend in [Backend::Sqlite, Backend::Postgres] {
            measure_security(backend).await;
        }
        if is_selected("instances") {
            measure_instances().await;
        }
        if is_selected("tracing") {
            measure_tracing().await;
        }
        for backend in [Backend::Sqlite, Backend::Postgres] {
            if is_selected(&format!("waiting {backend:?}")) {
                measure_waiting(backend).await;
            }
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

/// Compares requests with a DPoP proof, and sign-ins with a pushed request, with those without, as far as they are
/// selected.
async fn measure_security(backend: Backend) {
    let [proofs, pushed] = ["DPoP", "PAR"].map(|name| is_selected(&format!("{name} {backend:?}")));
    if !proofs && !pushed {
        return;
    }
    println!("\nDPoP and PAR on {backend:?}");
    let folder = tempfile::tempdir().expect("a folder");
    let url = backend.create(folder.path()).await;
    let server = Server::start(folder.path(), url.url()).await;
    let setup = Setup::prepare(&server, folder.path()).await;
    if proofs {
        security::compare_proofs(&server, &setup).await;
    }
    if pushed {
        security::compare_pushed_requests(&server, &setup).await;
    }
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

/// Measures requests whose clients wait for a decision.
async fn measure_waiting(backend: Backend) {
    println!(
        "\nWaiting on {backend:?}: {} back-channel requests with long polls",
        waiting::REQUESTS
    );
    let folder = tempfile::tempdir().expect("a folder");
    let url = backend.create(folder.path()).await;
    let server = Server::start_with(folder.path(), url.url(), waiting::SETTINGS).await;
    waiting::measure(&server, folder.path()).await;
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
