//! The long fault tests. `scripts/faults` runs all of them, and `scripts/faults refresh SIGKILL` runs the tests with
//! these words in their names. Each test prints a line; the first failure ends the program.
//!
//! In addition to the faults at each COMMIT (`tests/flows`): PostgreSQL crashes and is started again, or fails over to
//! a replica; connections fall silent; an instance's clock is wrong; a disk is full; devices wait; a snapshot stays
//! open; a newer release changes the schema.

mod clocks;
mod databases;
mod disks;
mod waiting;

use std::time::Instant;

use assent_tests::flows::{Cluster, Fault, Flow, PostgresServer, record, run};
use assent_tests::harness::{DatabaseUrl, temp_folder};

/// The words that select tests.
struct Selection(Vec<String>);

impl Selection {
    fn has(&self, name: &str) -> bool {
        self.0.iter().all(|word| name.contains(word.as_str()))
    }

    /// Runs a test, and prints its result. A failure panics.
    async fn run(&self, name: &str, test: impl AsyncFnOnce() -> String) {
        if !self.has(name) {
            return;
        }
        let began = Instant::now();
        let result = test().await;
        println!(
            "ok  {name}: {result} ({:.0} s)",
            began.elapsed().as_secs_f64()
        );
    }
}

/// Starts two instances on a new server.
async fn cluster(server: &PostgresServer) -> Cluster {
    let database = DatabaseUrl::create_at(&server.url(), "").await;
    Cluster::start_on(temp_folder(), database).await
}

#[tokio::main]
async fn main() {
    let selection = Selection(std::env::args().skip(1).collect());
    commits(&selection).await;
    selection.run("PostgreSQL crashes", databases::crash).await;
    selection
        .run("PostgreSQL fails over", databases::fail_over)
        .await;
    selection
        .run("connections fall silent", databases::silent_connections)
        .await;
    selection
        .run(
            "a migration's connection falls silent",
            databases::silent_migration,
        )
        .await;
    selection
        .run(
            "an older release on a newer schema",
            databases::newer_schema,
        )
        .await;
    selection
        .run("a snapshot stays open", databases::open_snapshot)
        .await;
    selection
        .run("clock two days ahead", || clocks::differs("+2d"))
        .await;
    selection
        .run("clock two days behind", || clocks::differs("-2d"))
        .await;
    selection
        .run("disk full, PostgreSQL", disks::postgres)
        .await;
    selection.run("disk full, SQLite", disks::sqlite).await;
    selection.run("2,000 long polls", waiting::devices).await;
}

/// Runs each fault at each COMMIT of each flow.
async fn commits(selection: &Selection) {
    let name = |flow: Flow, fault: Fault| format!("{}, {}", flow.name(), fault.name());
    // Flow names contain no words of commits. So all flows are recorded, except those without a selected fault.
    let flows: Vec<Flow> = Flow::ALL
        .into_iter()
        .filter(|flow| {
            Fault::ALL
                .iter()
                .any(|fault| selection.has(&name(*flow, *fault)))
        })
        .collect();
    if flows.is_empty() {
        return;
    }
    let server = PostgresServer::start();
    let mut cluster = cluster(&server).await;
    for flow in flows {
        let points = record(&cluster, flow).await;
        println!("    {}: {} commits", flow.name(), points.len());
        for point in &points {
            for fault in Fault::ALL {
                let name = name(flow, fault);
                if !selection.has(&name) {
                    continue;
                }
                let took = run(&mut cluster, flow, point, fault).await;
                println!(
                    "ok  {name} at {point}: the other instance signed a user in after {:.1} s",
                    took.as_secs_f64()
                );
            }
        }
    }
}
