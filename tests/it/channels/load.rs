//! Five hundred concurrent requests wait for a vendor.

use std::process::Command;

use crate::harness::{Parsed, slow_vendor, vendor_load};

/// The environment variable that marks the child process. Its value is the port of the vendor.
const VENDOR: &str = "ASSENT_TEST_VENDOR";
/// The largest number of additional threads, such as threads for name resolution.
const SPARE: usize = 24;

/// The test runs in a process of its own, because tests beside it use threads as well. `benches/gateway.rs` measures
/// the memory, because it is built in the same way as an instance.
#[tokio::test]
async fn five_hundred_pending_vendor_requests_block_no_thread() {
    if let Ok(port) = std::env::var(VENDOR) {
        let vendor_load = vendor_load(500, port.parsed()).await;
        assert!(
            vendor_load.threads.1 <= vendor_load.threads.0 + SPARE,
            "{vendor_load:?}"
        );
        return;
    }
    let port = slow_vendor().await;
    let name = "channels::load::five_hundred_pending_vendor_requests_block_no_thread";
    let child = tokio::task::spawn_blocking(move || {
        let tests = std::env::current_exe().expect("these tests");
        Command::new(tests)
            .args(["--exact", name])
            .env(VENDOR, port.to_string())
            .output()
            .expect("a process")
    });
    let child = child.await.expect("an end");
    let returned = String::from_utf8_lossy(&child.stdout);
    assert!(
        child.status.success() && returned.contains("1 passed"),
        "{returned}"
    );
}
