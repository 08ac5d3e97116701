//! The metrics of this process, under the names that Prometheus' own client libraries use.

use assent_telemetry::Family;
use procfs::process::Process;

/// The metrics that the system tells; those that it does not are absent.
#[allow(
    clippy::cast_precision_loss,
    reason = "a measurement needs no more digits than a float has"
)]
pub(super) fn families() -> Vec<Family> {
    let Ok(process) = Process::myself() else {
        return Vec::new();
    };
    let mut families = Vec::new();
    if let Ok(stat) = process.stat() {
        let ticks = procfs::ticks_per_second() as f64;
        let memory = stat.rss.saturating_mul(procfs::page_size());
        families.extend([
            Family::time(
                "process_cpu_seconds",
                "Processor time of this process",
                (stat.utime + stat.stime) as f64 / ticks,
            ),
            Family::gauge(
                "process_resident_memory_bytes",
                "Memory of this process",
                memory as f64,
            ),
            Family::gauge(
                "process_virtual_memory_bytes",
                "Address space of this process",
                stat.vsize as f64,
            ),
            Family::gauge(
                "process_threads",
                "Threads of this process",
                stat.num_threads as f64,
            ),
        ]);
        if let Ok(boot) = procfs::boot_time_secs() {
            families.push(Family::gauge(
                "process_start_time_seconds",
                "When this process started, as a Unix timestamp",
                boot as f64 + stat.starttime as f64 / ticks,
            ));
        }
    }
    if let Ok(open) = process.fd_count() {
        families.push(Family::gauge(
            "process_open_fds",
            "Open file descriptors",
            open as f64,
        ));
    }
    if let Ok(most) = rlimit::Resource::NOFILE.get_soft() {
        families.push(Family::gauge(
            "process_max_fds",
            "The limit of open file descriptors",
            most as f64,
        ));
    }
    families
}
