//! Unix sockets: their place, owner and permissions.

use std::fs::{DirBuilder, Permissions};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;

/// The permissions of a socket: its user and group may connect.
const MODE: u32 = 0o660;
/// The file of the groups of this machine.
const GROUPS: &str = "/etc/group";

/// Opens a socket at a path, for the users in a group. A file that a stopped server left there is replaced.
///
/// # Errors
/// If another program listens there, the path is another kind of file, or the group cannot be set.
pub(super) fn bind(path: &Path, group: Option<&str>) -> Result<UnixListener> {
    let group = group.map(group_id).transpose()?;
    if let Some(folder) = path.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(folder)?;
    }
    must_be_free(path)?;
    // The socket gets its permissions under another name, so that no other user can connect before.
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    match std::fs::remove_file(&beside) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(&beside)?;
    let placed = std::fs::set_permissions(&beside, Permissions::from_mode(MODE))
        .and_then(|()| group.map_or(Ok(()), |group| chown(&beside, None, Some(group))))
        .and_then(|()| std::fs::rename(&beside, path));
    if let Err(error) = placed {
        // The first error is the one to report.
        let _ = std::fs::remove_file(&beside);
        return Err(error);
    }
    Ok(listener)
}

/// Fails if a program listens at the path, or if it is no socket.
fn must_be_free(path: &Path) -> Result<()> {
    let metadata = match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    if !metadata.file_type().is_socket() {
        return Err(Error::new(
            ErrorKind::AlreadyExists,
            "the file exists and is not a socket",
        ));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Err(ErrorKind::AddrInUse.into()),
    }
}

/// Returns the id of a group of this machine.
fn group_id(name: &str) -> Result<u32> {
    let groups = std::fs::read_to_string(GROUPS)?;
    let id = id_in(&groups, name).ok_or_else(|| {
        let reason = format!("`http.socket_group` names the group {name}, which does not exist");
        Error::new(ErrorKind::InvalidInput, reason)
    })?;
    Ok(id)
}

/// Returns the id of a group in the form of group(5). A number is an id.
fn id_in(groups: &str, name: &str) -> Option<u32> {
    name.parse().ok().or_else(|| {
        groups.lines().find_map(|line| {
            let mut fields = line.split(':');
            (fields.next()? == name).then(|| fields.nth(1)?.parse().ok())?
        })
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_group_has_a_name_or_an_id() {
        let groups = "root:x:0:\nassent-proxy:x:995:www-data,caddy\n";
        assert_eq!(id_in(groups, "assent-proxy"), Some(995));
        assert_eq!(id_in(groups, "1000"), Some(1000));
        assert_eq!(id_in(groups, "assent"), None);
    }

    #[tokio::test]
    async fn a_stale_socket_is_replaced_and_a_used_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run/assent.sock");
        let first = bind(&path, None).unwrap();
        let mode = |path: &Path| path.symlink_metadata().unwrap().mode() & 0o777;
        assert_eq!(mode(&path), MODE);
        let error = bind(&path, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        drop(first);
        assert!(path.exists(), "the file stays");
        let own = std::fs::metadata(folder.path()).unwrap().gid().to_string();
        let second = bind(&path, Some(&own)).unwrap();
        assert_eq!(mode(&path), MODE);
        UnixStream::connect(&path).unwrap();
        drop(second);
        let error = bind(&path, Some("no such group")).unwrap_err();
        assert!(error.to_string().contains("http.socket_group"), "{error}");
        // Another file is never deleted.
        let file = folder.path().join("file");
        std::fs::write(&file, "text").unwrap();
        assert!(bind(&file, None).is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "text");
    }
}
