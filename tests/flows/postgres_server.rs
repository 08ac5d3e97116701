//! A PostgreSQL server that a test may stop and replace. It has a Unix socket in its own folder, and no port.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use openssl::pkey::{PKey, Private};
use openssl::x509::X509;
use tempfile::TempDir;

use crate::harness::{free_port, read_file, write_file};

/// A server with durable commits. It ends when the value is dropped.
pub struct PostgresServer {
    programs: PathBuf,
    /// The path is short, because the path of a socket has at most 107 bytes.
    folder: TempDir,
}

impl PostgresServer {
    /// Starts a new server.
    pub fn start() -> Self {
        let server = Self::initialized();
        server.start_again();
        server
    }

    /// Starts a new server that also listens at a port of 127.0.0.1, with TLS only. The role `assent` needs this client
    /// certificate, and the role `anybody` none.
    pub fn start_with_tls(own: &(X509, PKey<Private>), client: &X509) -> (Self, u16) {
        let server = Self::initialized();
        let port = free_port();
        let file = |name: &str, content: Vec<u8>| {
            let file = server.data().join(name);
            write_file(&file, content);
            if is_root() {
                succeed(Command::new("chown").arg("postgres:").arg(&file));
            }
            succeed(Command::new("chmod").arg("600").arg(&file));
        };
        file("server.crt", own.0.to_pem().expect("PEM"));
        file("server.key", own.1.private_key_to_pem_pkcs8().expect("PEM"));
        file("clients.crt", client.to_pem().expect("PEM"));
        let rules = "local all all trust\nhostssl all anybody 127.0.0.1/32 trust\nhostssl all all 127.0.0.1/32 cert\n";
        file("pg_hba.conf", rules.into());
        let settings = server.data().join("postgresql.conf");
        let more = format!(
            "\nlisten_addresses = '127.0.0.1'\nport = {port}\nssl = on\nssl_ca_file = 'clients.crt'\n"
        );
        write_file(&settings, read_file(&settings) + &more);
        server.start_again();
        (server, port)
    }

    fn initialized() -> Self {
        let server = Self::in_new_folder();
        server.run(
            "initdb",
            &[
                "--username=assent",
                "--auth=trust",
                "--encoding=UTF8",
                "--locale=C.UTF-8",
                "--no-sync",
            ],
        );
        server.configure();
        server
    }

    /// Starts a streaming replica. From then on, the server acknowledges a commit after both have it.
    pub fn start_replica(&self) -> Self {
        let replica = Self::in_new_folder();
        let source = format!("--host={}", self.folder().display());
        replica.run(
            "pg_basebackup",
            &[
                &source,
                "--username=assent",
                "--write-recovery-conf",
                "--checkpoint=fast",
            ],
        );
        replica.configure();
        replica.start_again();
        self.execute("ALTER SYSTEM SET synchronous_standby_names = '*'");
        self.execute("SELECT pg_reload_conf()");
        replica
    }

    fn in_new_folder() -> Self {
        let found = glob("/usr/lib/postgresql", "bin");
        let programs = found.expect("PostgreSQL; run: scripts/setup test");
        let folder = tempfile::Builder::new()
            .prefix("assent-postgres.")
            .tempdir_in("/tmp")
            .expect("a folder");
        let server = Self { programs, folder };
        if is_root() {
            let folder = server.folder().to_owned();
            succeed(Command::new("chown").arg("postgres:").arg(folder));
        }
        server
    }

    fn configure(&self) {
        let file = self.data().join("postgresql.conf");
        let more = format!(
            "\nlisten_addresses = ''\nunix_socket_directories = '{}'\nmax_connections = 200\n",
            self.folder().display()
        );
        write_file(&file, read_file(&file) + &more);
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn data(&self) -> PathBuf {
        self.folder().join("data")
    }

    /// Returns the path of the socket.
    pub fn socket(&self) -> PathBuf {
        self.folder().join(".s.PGSQL.5432")
    }

    /// Returns the URL of the server's own database.
    pub fn url(&self) -> String {
        format!(
            "postgres://assent@localhost/postgres?host={}",
            self.folder().display()
        )
    }

    /// Starts the server again after a stop.
    pub fn start_again(&self) {
        let log = format!("--log={}", self.folder().join("server.log").display());
        self.run("pg_ctl", &["start", "--silent", "--wait", &log]);
    }

    /// Stops the server in the same way as a crash.
    pub fn crash(&self) {
        self.run("pg_ctl", &["stop", "--silent", "--mode=immediate"]);
    }

    /// Promotes a replica to the primary server.
    pub fn promote(&self) {
        self.run("pg_ctl", &["promote", "--silent", "--wait"]);
    }

    /// Executes a statement as the owner of the server.
    pub fn execute(&self, statement: &str) {
        let host = format!("--host={}", self.folder().display());
        let arguments = [
            &host,
            "--username=assent",
            "--quiet",
            "--output=/dev/null",
            "--command",
            statement,
            "postgres",
        ];
        succeed(self.program("psql").args(arguments));
    }

    /// Runs a program with the data folder.
    fn run(&self, program: &str, arguments: &[&str]) {
        let data = format!("--pgdata={}", self.data().display());
        succeed(self.program(program).arg(data).args(arguments));
    }

    /// Returns the command for a program of the server. PostgreSQL does not run as root.
    fn program(&self, name: &str) -> Command {
        let program = self.programs.join(name);
        let mut command = match is_root() {
            true => {
                let mut command = Command::new("runuser");
                command.args(["-u", "postgres", "--"]).arg(program);
                command
            }
            false => Command::new(program),
        };
        command.current_dir("/tmp");
        command
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        let data = format!("--pgdata={}", self.data().display());
        // The test may have stopped it.
        let _ = self
            .program("pg_ctl")
            .args(["stop", "--silent", "--mode=immediate"])
            .arg(data)
            .output();
    }
}

/// Returns the last existing path of the form `{parent}/*/{name}`.
pub fn glob(parent: &str, name: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(parent).ok()?;
    let found = entries.filter_map(|entry| Some(entry.ok()?.path().join(name)));
    found.filter(|path| path.exists()).max()
}

pub fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|this| this.uid() == 0)
}

/// Runs the command, which must succeed.
pub fn succeed(command: &mut Command) {
    // The output is not a pipe: a server that stays in the background would keep it open.
    let log = tempfile::tempfile().expect("a file");
    let status = command
        .stdout(log.try_clone().expect("a file"))
        .stderr(log.try_clone().expect("a file"))
        .status();
    let status = status.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    if !status.success() {
        use std::io::{Read, Seek};
        let (mut log, mut text) = (log, String::new());
        let read = log.rewind().and_then(|()| log.read_to_string(&mut text));
        panic!("{command:?}: {status} {text} {read:?}");
    }
}
