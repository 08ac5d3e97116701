//! The server as a separate process, and the limits of this one.

use std::path::Path;
use std::process::{ExitStatus, Stdio};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::{binary, free_port, in_time, write_file};

/// Lets this process have this number of open files, for tests with many connections.
pub fn allow_open_files(count: u64) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_some_and(|current| current < count) {
        let raised = Rlimit {
            current: Some(count),
            maximum,
        };
        let set = setrlimit(Resource::Nofile, raised);
        set.unwrap_or_else(|error| panic!("{count} open files, of {maximum:?}: {error}"));
    }
}

/// A process `assent serve`, which ends with the test.
pub struct ServerProcess {
    child: Child,
    /// The address of the server.
    pub base: String,
}

impl ServerProcess {
    /// Starts the server with its data in this folder and its log in `log`. `settings` is additional TOML, and `http`
    /// has lines for the table `[http]`.
    pub async fn start(folder: &Path, http: &str, settings: &str, log: impl Into<Stdio>) -> Self {
        let address = format!("127.0.0.1:{}", free_port());
        let base = format!("http://{address}");
        let text =
            format!("base_url = \"{base}\"\n[http]\nlisten = \"{address}\"\n{http}\n{settings}\n");
        write_file(folder.join("assent.toml"), text);
        let mut command = Command::new(binary("assent"));
        command.args(["serve", "--config", "assent.toml"]);
        Self::start_by(command.current_dir(folder).stderr(log), base).await
    }

    /// Starts the server with its data in this folder, these settings, and this environment variable.
    pub async fn start_with(folder: &Path, settings: &str, (name, value): (&str, &Path)) -> Self {
        let address = format!("127.0.0.1:{}", free_port());
        let base = format!("http://{address}");
        let text = format!("base_url = \"{base}\"\n[http]\nlisten = \"{address}\"\n{settings}\n");
        write_file(folder.join("assent.toml"), text);
        let mut command = Command::new(binary("assent"));
        command.args(["serve", "--config", "assent.toml"]);
        Self::start_by(command.current_dir(folder).env(name, value), base).await
    }

    /// Starts the server with this command, and waits until it serves.
    pub async fn start_by(command: &mut Command, base: String) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("started");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        while !in_time(lines.next_line())
            .await
            .expect("readable")
            .expect("it serves")
            .contains("The console:")
        {}
        Self { child, base }
    }

    /// Sends this signal to the server, such as `TERM`.
    pub async fn signal(&self, name: &str) {
        let id = self.child.id().expect("it runs").to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status().await;
        assert!(sent.expect("sent").success());
    }

    /// Waits for the end of the process.
    pub async fn ended(mut self) -> ExitStatus {
        in_time(self.child.wait()).await.expect("ended")
    }
}
