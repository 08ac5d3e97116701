//! The check whether a file is on a mounted volume, and therefore outlives the container.

use std::path::{Path, PathBuf};

/// The file systems that are lost with the container or the machine.
const EPHEMERAL: [&str; 3] = ["overlay", "tmpfs", "ramfs"];

/// Returns whether `file` is, or would be created, on a volume that outlives the container. Returns `false` if the
/// mounts of this process cannot be read.
pub fn holds(file: &Path) -> bool {
    let Ok(mounts) = std::fs::read_to_string("/proc/self/mountinfo") else {
        return false;
    };
    let existing = file
        .ancestors()
        .find_map(|folder| std::path::absolute(folder).ok()?.canonicalize().ok());
    existing.is_some_and(|folder| is_on_volume(&mounts, &folder))
}

/// Returns whether the mount of `path` is neither the root nor ephemeral.
///
/// `mounts` has a line for each mount (proc_pid_mountinfo(5)). The fourth field is the mounted folder in its file
/// system, and the fifth one is the mount point. The field after the separator `-` is the type.
fn is_on_volume(mounts: &str, path: &Path) -> bool {
    let mounts = mounts.lines().filter_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let folder = unescape_path(fields.next()?);
        let point = PathBuf::from(unescape_path(fields.next()?));
        let kind = file_system.split(' ').next().unwrap_or_default();
        path.starts_with(&point).then_some((point, folder, kind))
    });
    // Of two mounts at the same mount point, the later one covers the earlier one.
    let deepest = mounts.max_by_key(|(point, ..)| point.components().count());
    deepest.is_some_and(|(point, folder, kind)| {
        point != Path::new("/") && !EPHEMERAL.contains(&kind) && !is_of_one_container(&folder)
    })
}

/// Returns whether the folder is created for one container. Kubernetes deletes an `emptyDir` with the pod. A new
/// container gets a new anonymous volume with a name of 64 hexadecimal digits.
fn is_of_one_container(folder: &str) -> bool {
    let mut names = folder.split('/');
    folder.contains("/kubernetes.io~empty-dir/")
        || names.any(|name| name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Returns a mount point as a path. The kernel writes blanks, tabs, line feeds and backslashes as octal numbers.
fn unescape_path(point: &str) -> String {
    [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ]
    .into_iter()
    .fold(point.to_owned(), |text, (escaped, character)| {
        text.replace(escaped, character)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 0:30 / / rw,relatime - overlay overlay rw,lowerdir=/l
40 27 8:1 /volumes/a /var/lib/assent rw,relatime master:1 - ext4 /dev/sda1 rw
41 27 0:40 / /run rw - tmpfs tmpfs rw
42 27 8:1 /v /with\\040blank rw - ext4 /dev/sda1 rw
43 40 0:41 / /var/lib/assent/memory rw - tmpfs tmpfs rw
44 27 8:1 /var/lib/kubelet/pods/1-2/volumes/kubernetes.io~empty-dir/data /empty rw - ext4 /dev/sda1 rw
45 27 8:1 /docker/volumes/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef/_data /anonymous rw - ext4 \
/dev/sda1 rw
46 27 8:1 /docker/volumes/assent/_data /named rw - ext4 /dev/sda1 rw
";

    #[test]
    fn a_volume_is_a_mount_below_the_root_that_outlives_the_container() {
        let is_on_volume = |path| super::is_on_volume(MOUNTS, Path::new(path));
        for path in [
            "/var/lib/assent",
            "/var/lib/assent/a/b",
            "/with blank/a",
            "/named",
        ] {
            assert!(is_on_volume(path), "{path}");
        }
        for lost in [
            "/",
            "/var/lib",
            "/var/lib/assentx",
            "/run/a",
            "/var/lib/assent/memory",
            "/empty/a",
            "/anonymous",
        ] {
            assert!(!is_on_volume(lost), "{lost}");
        }
        assert!(!super::is_on_volume("", Path::new("/a")));
    }
}
