//! A limited share of a processor for a process, by Linux control groups.

use std::fs;
use std::path::PathBuf;

/// The period of a quota, in microseconds.
const PERIOD: u32 = 10_000;

/// A control group, which is removed when the value is dropped.
pub struct Quota(PathBuf);

impl Quota {
    /// Creates a group that may use this percentage of a processor. Returns `None` if this machine permits no new
    /// group.
    pub fn new(name: &str, percent: u32) -> Option<Self> {
        let quota = PERIOD * percent / 100;
        let unique = format!("assent-bench-{}-{name}", std::process::id());
        let legacy = PathBuf::from("/sys/fs/cgroup/cpu").join(&unique);
        if fs::create_dir(&legacy).is_ok() {
            let group = Self(legacy);
            group.write("cpu.cfs_period_us", &PERIOD.to_string())?;
            group.write("cpu.cfs_quota_us", &quota.to_string())?;
            return Some(group);
        }
        let unified = PathBuf::from("/sys/fs/cgroup").join(&unique);
        fs::create_dir(&unified).ok()?;
        let group = Self(unified);
        group.write("cpu.max", &format!("{quota} {PERIOD}"))?;
        Some(group)
    }

    /// Moves a process into the group.
    pub fn add(&self, process: u32) -> Option<()> {
        self.write("cgroup.procs", &process.to_string())
    }

    fn write(&self, file: &str, text: &str) -> Option<()> {
        fs::write(self.0.join(file), text).ok()
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // The group remains until its processes have ended, which costs nothing.
        let _ = fs::remove_dir(&self.0);
    }
}
