//! A real PgBouncer between Assent and PostgreSQL.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use assent_tests::flows::postgres_server::is_root;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::harness::{
    Database, DatabaseUrl, Run, connect, free_port, in_time, open_store, temp_folder, write_file,
};
use crate::programs::target;

/// A running PgBouncer.
struct Pooler {
    _process: Child,
    port: u16,
    name: String,
}

impl Pooler {
    /// Starts PgBouncer in front of this database, with these settings.
    async fn start(folder: &Path, database: &DatabaseUrl, settings: &str) -> Self {
        let url = url::Url::parse(database.url()).expect("a URL");
        let name = url.path().trim_start_matches('/').to_owned();
        let (_, socket) = url
            .query_pairs()
            .find(|(name, _)| name == "host")
            .expect("the folder of the socket");
        let port = free_port();
        let text = format!(
            "[databases]\n{name} = host={socket} user=assent\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = any\n{settings}\n"
        );
        let file = folder.join("pgbouncer.ini");
        write_file(&file, text);
        let installed = target().join("pgbouncer/usr");
        let program = installed.join("sbin/pgbouncer");
        assert!(
            program.is_file(),
            "{} is missing: run `make test`",
            program.display()
        );
        let mut command = Command::new(program);
        command
            .arg(&file)
            .env("LD_LIBRARY_PATH", installed.join("lib/x86_64-linux-gnu"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        // It refuses to run as root.
        if is_root() {
            use std::os::unix::fs::PermissionsExt;
            let readable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(folder, readable).expect("permissions");
            command.args(["-u", "postgres"]);
        }
        let process = command.start();
        let listening = async {
            while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        in_time(listening).await;
        Self {
            _process: process,
            port,
            name,
        }
    }

    fn url(&self) -> String {
        format!("postgres://assent@127.0.0.1:{}/{}", self.port, self.name)
    }
}

async fn failure(url: &str) -> String {
    let opened = assent_store::Database::open(url).await;
    opened.expect_err("no limits").to_string()
}

#[tokio::test]
async fn a_pooler_that_drops_the_limits_is_named() {
    let folder = temp_folder();
    let database = Database::Postgres.create_migrated(folder.path()).await;
    for (settings, reason) in [
        ("pool_mode = session", "unsupported startup parameter"),
        ("pool_mode = transaction", "unsupported startup parameter"),
        (
            "pool_mode = session\nignore_startup_parameters = options",
            "the session has statement_timeout=0 and not 5000",
        ),
        (
            "pool_mode = transaction\nignore_startup_parameters = options",
            "the session has statement_timeout=0 and not 5000",
        ),
    ] {
        let pooler = Pooler::start(folder.path(), &database, settings).await;
        let message = failure(&pooler.url()).await;
        assert!(message.contains(reason), "{settings}: {message}");
        assert!(message.contains("PgBouncer"), "{settings}: {message}");
        assert!(message.contains("docs/operators/database.md"), "{message}");
    }
}

#[tokio::test]
async fn a_pooler_in_session_mode_works_with_limits_of_the_role() {
    let folder = temp_folder();
    let database = Database::Postgres.create_migrated(folder.path()).await;
    let mut connection = connect(database.url()).await;
    let url = url::Url::parse(database.url()).expect("a URL");
    let name = url.path().trim_start_matches('/');
    for limit in [
        "statement_timeout = '5s'",
        "lock_timeout = '4s'",
        "idle_in_transaction_session_timeout = '2s'",
    ] {
        // The limits of the role would be those of all tests.
        let statement = format!("ALTER DATABASE {name} SET {limit}");
        connection.batch(&statement).await.expect("set");
    }
    connection.close().await;
    let settings =
        "pool_mode = session\nignore_startup_parameters = options\ndefault_pool_size = 50";
    let pooler = Pooler::start(folder.path(), &database, settings).await;
    let store = open_store(&pooler.url()).await;
    let store = store.expect("it opens");
    let counts = store.users_by_state().await;
    assert!(counts.is_ok(), "{counts:?}");
    store.close().await;
    // In transaction mode two connections are one session.
    let settings = "pool_mode = transaction\nignore_startup_parameters = options";
    let pooler = Pooler::start(folder.path(), &database, settings).await;
    let message = failure(&pooler.url()).await;
    assert!(message.contains("in transaction mode"), "{message}");
}
