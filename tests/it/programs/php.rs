//! PHP's own web server.

use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::harness::between;

/// A running web server on a port of its own.
pub struct Php {
    _server: Child,
    /// The base URL, without a slash at the end.
    pub base: String,
}

impl Php {
    /// Serves the pages of a folder. `configure` adds a script that answers the requests, settings, and variables.
    pub async fn serve(pages: &Path, configure: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new("php");
        // The operating system chooses the port.
        command
            .args(["-d", "display_errors=0", "-S", "127.0.0.1:0", "-t"])
            .arg(pages)
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        configure(&mut command);
        let mut server = command.spawn().expect("php is missing: run `make test`");
        let mut lines = BufReader::new(server.stderr.take().expect("its output")).lines();
        let line = lines
            .next_line()
            .await
            .expect("readable")
            .expect("where it serves");
        let port = between(&line, "(http://127.0.0.1:", ")");
        let base = format!("http://localhost:{port}");
        // The server writes a line for each request, and would block without a reader.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Self {
            _server: server,
            base,
        }
    }
}
