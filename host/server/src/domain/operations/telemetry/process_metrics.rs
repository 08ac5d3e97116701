//! The metrics of this process, under the names that Prometheus' own client libraries use.

use assent_telemetry::{Family, number};
use procfs::process::Process;

/// Returns the metrics that the operating system provides. The others are absent.
pub(crate) fn families() -> Vec<Family> {
    let Ok(process) = Process::myself() else {
        return Vec::new();
    };
    let mut families = Vec::new();
    if let Ok(stat) = process.stat() {
        let ticks = number(procfs::ticks_per_second());
        let memory = stat.rss.saturating_mul(procfs::page_size());
        families.extend([
            Family::time(
                "process_cpu_seconds",
                "Processor time of this process",
                number(stat.utime + stat.stime) / ticks,
            ),
            Family::gauge(
                "process_resident_memory_bytes",
                "Memory of this process",
                number(memory),
            ),
            Family::gauge(
                "process_virtual_memory_bytes",
                "Address space of this process",
                number(stat.vsize),
            ),
            Family::gauge(
                "process_threads",
                "Threads of this process",
                number(stat.num_threads),
            ),
        ]);
        if let Ok(boot) = procfs::boot_time_secs() {
            families.push(Family::gauge(
                "process_start_time_seconds",
                "When this process started, as a Unix timestamp",
                number(boot) + number(stat.starttime) / ticks,
            ));
        }
    }
    if let Ok(open) = process.fd_count() {
        families.push(Family::gauge(
            "process_open_fds",
            "Open file descriptors",
            number(open),
        ));
    }
    if let Ok(most) = rlimit::Resource::NOFILE.get_soft() {
        families.push(Family::gauge(
            "process_max_fds",
            "The limit of open file descriptors",
            number(most),
        ));
    }
    families
}
