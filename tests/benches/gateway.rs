//! What 500 approvals cost that all wait for a slow vendor at once: no thread each, and little memory.
//!
//! `cargo run -p assent-plugin -- build plugins/http-gateway`, then `cargo bench -p assent-tests --bench gateway`.

use assent_tests::harness::crowd;

/// How many wait at once.
const WAITING: usize = 500;
/// What they may take in all, in bytes.
const MOST: usize = 64 << 20;

#[tokio::main]
async fn main() {
    let crowd = crowd(WAITING).await;
    let grown = crowd.resident.1.saturating_sub(crowd.resident.0);
    println!("waiting at once  {WAITING:>10}");
    println!("threads before   {:>10}", crowd.threads.0);
    println!("threads waiting  {:>10}", crowd.threads.1);
    println!("memory, grown by {:>10.1} MiB of {} MiB", grown as f64 / f64::from(1 << 20), MOST >> 20);
    println!("all asked in     {:>10.1?}", crowd.asked_in);
    println!("all decided in   {:>10.1?}", crowd.decided_in);
    assert!(grown < MOST, "{grown} bytes");
    assert!(crowd.threads.1 <= crowd.threads.0 + 8, "{:?}", crowd.threads);
}
