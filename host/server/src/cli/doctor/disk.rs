//! The space on the disks.

use std::path::Path;

use super::finding::Finding;
use crate::config::Settings;
use assent_store::Store;

const MIB: u64 = 1 << 20;
/// With less free space the server will soon reject writes.
const LEAST: u64 = 200 * MIB;
/// With less free space an operator should act.
const LITTLE: u64 = 1024 * MIB;

/// Checks the free space of each folder in which the server writes.
pub(super) fn examine(settings: &Settings) -> Vec<Finding> {
    let database = Store::database_file(&settings.database.url);
    let folders = [
        database.as_deref().and_then(Path::parent),
        settings.plugins.compiled_folder.as_deref(),
        settings.audit.stream.file.as_deref().and_then(Path::parent),
    ];
    let mut seen = Vec::new();
    let mut findings = Vec::new();
    for folder in folders.into_iter().flatten() {
        // A folder that the first start creates is on the disk of its nearest existing ancestor.
        let existing = folder.ancestors().find(|folder| folder.is_dir());
        // The last ancestor of a relative path is the current folder.
        let existing = existing.unwrap_or(Path::new("."));
        let Ok(space) = rustix::fs::statvfs(existing) else {
            continue;
        };
        if seen.contains(&space.f_fsid) {
            continue;
        }
        seen.push(space.f_fsid);
        findings.push(finding(
            existing,
            space.f_bavail.saturating_mul(space.f_frsize),
        ));
    }
    findings
}

fn finding(folder: &Path, free: u64) -> Finding {
    let text = format!("{} has {} MiB of free space", folder.display(), free / MIB);
    let advice = "Free space, or move the folder to a larger disk.";
    match free {
        LITTLE.. => Finding::ok("disk", text),
        LEAST.. => Finding::warning("disk", text, advice),
        _ => Finding::problem("disk", text, advice),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::finding::Level;

    #[test]
    fn a_full_disk_is_a_problem() {
        for (free, level) in [
            (0, Level::Problem),
            (199 * MIB, Level::Problem),
            (200 * MIB, Level::Warning),
            (1023 * MIB, Level::Warning),
            (1024 * MIB, Level::Ok),
            (u64::MAX, Level::Ok),
        ] {
            assert_eq!(finding(Path::new("/"), free).level, level, "{free}");
        }
    }
}
