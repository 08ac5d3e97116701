//! Access of other users of this machine: to the secrets of the service, and to its socket.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use tokio::net::UnixStream;

use super::finding::Finding;
use crate::config::Settings;

/// The permissions of other users in a file's mode.
const OTHERS: u32 = 0o007;
/// The permissions of the group and of other users.
const GROUP_AND_OTHERS: u32 = 0o077;

/// Checks the file with the environment of the service, beside the settings. It may contain the master key.
pub(super) fn environment_file(settings: &Path) -> Option<Finding> {
    let check = "environment";
    let file = settings.parent()?.join("environment");
    let mode = std::fs::metadata(&file).ok()?.mode() & 0o777;
    let file = file.display();
    Some(match mode & GROUP_AND_OTHERS {
        0 => Finding::ok(check, format!("only its owner can read {file}")),
        _ => Finding::problem(
            check,
            format!(
                "other users can read {file} (mode {mode:o}), which may contain the master key"
            ),
            format!("Run: sudo chmod 600 {file}, and replace the secrets in it."),
        ),
    })
}

/// Checks the socket of `http.listen`, if it is one.
pub(super) async fn socket(settings: &Settings) -> Option<Finding> {
    let check = "socket";
    let path = settings.http.listen.socket()?;
    let shown = path.display();
    let mode = match std::fs::metadata(path) {
        Ok(metadata) => metadata.mode() & 0o777,
        Err(error) => {
            let text = format!("{shown}: {error}");
            return Some(Finding::problem(check, text, "Start the server."));
        }
    };
    if mode & OTHERS != 0 {
        let text = format!("every user of this machine can connect to {shown} (mode {mode:o})");
        let advice = "Restart the server, which sets the mode 660.";
        return Some(Finding::problem(check, text, advice));
    }
    Some(match UnixStream::connect(path).await {
        Ok(_) => Finding::ok(
            check,
            format!("the server listens at {shown}, for its user and group only"),
        ),
        Err(error) => Finding::problem(
            check,
            format!("no server listens at {shown}: {error}"),
            "Start the server, or run the doctor as its user.",
        ),
    })
}
