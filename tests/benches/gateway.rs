//! The cost of 500 concurrent approvals that wait for a slow vendor. They must not need a thread each, and need little
//! memory.
//!
//! `cargo run -p assent-plugin -- build plugins/http-gateway`, then `cargo bench -p assent-tests --bench gateway`. This
//! program starts the vendor as a separate process, so that the vendor's resources are not counted.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use assent_tests::harness::{slow_vendor, vendor_load};

/// The number of concurrent approvals.
const WAITING: usize = 500;
/// The largest permitted growth of the memory, in bytes.
const MOST: usize = 64 << 20;
/// The number of threads that may start meanwhile, such as threads that resolve host names.
const SPARE: usize = 24;

#[tokio::main]
async fn main() {
    if std::env::args().any(|argument| argument == "vendor") {
        println!("{}", slow_vendor().await);
        return std::future::pending().await;
    }
    let program = std::env::current_exe().expect("this program");
    let vendor = Command::new(program)
        .arg("vendor")
        .stdout(Stdio::piped())
        .spawn();
    let mut vendor = vendor.expect("the vendor");
    let mut line = String::new();
    BufReader::new(vendor.stdout.take().expect("its output"))
        .read_line(&mut line)
        .expect("a line");
    let vendor_load = vendor_load(WAITING, line.trim().parse().expect("a port")).await;
    vendor.kill().and_then(|()| vendor.wait()).expect("ended");

    let grown = vendor_load.memory.1.saturating_sub(vendor_load.memory.0);
    println!("waiting at once  {WAITING:>10}");
    println!("threads before   {:>10}", vendor_load.threads.0);
    println!("threads waiting  {:>10}", vendor_load.threads.1);
    println!(
        "memory, grown by {:>10.1} MiB of {} MiB",
        grown as f64 / f64::from(1 << 20),
        MOST >> 20
    );
    println!("all asked in     {:>10.1?}", vendor_load.requested_in);
    println!("all decided in   {:>10.1?}", vendor_load.decided_in);
    assert!(grown < MOST, "{grown} bytes");
    assert!(
        vendor_load.threads.1 <= vendor_load.threads.0 + SPARE,
        "{:?}",
        vendor_load.threads
    );
}
