//! The response times of the admin API with very many users, accounts and audit entries.
//!
//! `scripts/bench-scale 1000000 sqlite` creates a million of each in SQLite, with the statements of an import. Then it
//! proves that the product would have written the same data: it verifies the whole audit log, and reads a sample back.
//! A hundred requests of each kind then measure the response times. The benchmark fails if the 99th percentile of a
//! kind is 100 ms or longer. Without a number it creates 20,000, and without a database it measures both. With a second
//! number the audit log has this many entries: copies of those that it created.

mod access;
mod data_set;
mod names;
mod requests;

use std::time::Instant;

use assent_tests::harness::{Database, TestHost};

use data_set::DataSet;

/// The default number.
const FEW: u32 = 20_000;

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .collect();
    let mut numbers = words.iter().filter_map(|word| word.parse().ok());
    let count = numbers.next().unwrap_or(FEW);
    let entries = numbers.next().unwrap_or(count);
    let wanted = |database: &Database| {
        let name = format!("{database:?}").to_lowercase();
        words
            .iter()
            .all(|word| word.parse::<u32>().is_ok() || name == word.to_lowercase())
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let mut slow = Vec::new();
    for database in Database::BOTH.into_iter().filter(wanted) {
        slow.extend(runtime.block_on(measure(database, count, entries)));
    }
    assert!(slow.is_empty(), "too slow: {slow:?}");
}

/// Measures one database, and returns the requests that are too slow.
async fn measure(database: Database, count: u32, entries: u32) -> Vec<String> {
    let started = Instant::now();
    let settings = "[rate_limits]\ntoken_requests_per_ip = { per_minute = 0, burst = 1 }\n";
    let host = TestHost::start_on_with(database, settings).await;
    let made = DataSet::create(&host, count).await;
    println!(
        "\n{database:?}: {count} users, accounts and entries, made in {:.0?}",
        started.elapsed()
    );
    let proving = Instant::now();
    made.prove(&host).await;
    println!(
        "  the log is whole, and what was made is there: {:.0?}",
        proving.elapsed()
    );
    if entries >= 2 * count {
        let copying = Instant::now();
        data_set::copy_entries(&host, database, entries / count).await;
        println!("  {entries} entries, copied in {:.0?}", copying.elapsed());
    }
    if database == Database::Postgres {
        // PostgreSQL does this by itself some minutes later.
        host.connection()
            .await
            .batch("VACUUM ANALYZE")
            .await
            .expect("analyzed");
    }
    requests::measure(&made).await
}
