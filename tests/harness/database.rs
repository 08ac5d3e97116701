//! Databases for tests. Each test has its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use assent_model::audit::chain::ChainKey;
use assent_model::clock::Timestamp;
use assent_model::entropy::{Entropy, SystemEntropy};
use assent_store::sql::{self, Connection, Options};
use assent_store::{AdminWrite, AdminWrites, ChainContext, Store, StoreError, UserAction};
use tokio::sync::OnceCell;

use super::{PATIENCE, read_bytes, write_file};

/// The kind of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Database {
    Sqlite,
    Postgres,
}

/// The URL of a test's own database. PostgreSQL's database is dropped with its last URL, so that the tests need little
/// disk space.
#[derive(Debug)]
pub struct DatabaseUrl {
    url: String,
    owned: Option<Arc<OwnedDatabase>>,
}

/// A database of the PostgreSQL server at this URL.
#[derive(Debug)]
struct OwnedDatabase {
    server: String,
    name: String,
}

impl DatabaseUrl {
    /// Returns the same database with another URL.
    fn with_url(&self, url: &url::Url) -> Self {
        Self {
            url: url.to_string(),
            owned: self.owned.clone(),
        }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Creates a database on the PostgreSQL server at this URL, with these options of `CREATE DATABASE`.
    pub async fn create_at(server: &str, extra: &str) -> Self {
        let mut bytes = [0; 8];
        SystemEntropy.fill(&mut bytes);
        let name: String = bytes
            .iter()
            .fold("t_".to_owned(), |name, byte| format!("{name}{byte:02x}"));
        let mut connection = connect(server).await;
        connection
            .batch(&format!("CREATE DATABASE {name} {extra}"))
            .await
            .expect("created");
        connection.close().await;
        let mut url = url::Url::parse(server).expect("a URL");
        url.set_path(&name);
        Self {
            url: url.to_string(),
            owned: Some(Arc::new(OwnedDatabase {
                server: server.to_owned(),
                name,
            })),
        }
    }

    /// Returns the socket of the PostgreSQL server.
    pub fn socket(&self) -> PathBuf {
        let url = url::Url::parse(&self.url).expect("a URL");
        let (_, folder) = url
            .query_pairs()
            .find(|(name, _)| name == "host")
            .expect("the folder of a socket");
        Path::new(folder.as_ref()).join(".s.PGSQL.5432")
    }

    /// Returns the database of the same name on the server with its socket in this folder.
    pub fn at_socket_of(&self, folder: &Path) -> Self {
        let mut url = url::Url::parse(&self.url).expect("a URL");
        url.set_query(Some(&format!("host={}", folder.display())));
        self.with_url(&url)
    }

    /// Returns the same database behind a proxy.
    pub fn behind(&self, port: u16) -> Self {
        let mut url = url::Url::parse(&self.url).expect("a URL");
        url.set_query(None);
        url.set_host(Some("127.0.0.1")).expect("a host name");
        url.set_port(Some(port)).expect("a port");
        self.with_url(&url)
    }

    /// Opens a connection for the test, for reads and writes that the APIs do not offer.
    pub async fn connection(&self) -> Connection {
        connect(&self.url).await
    }
}

/// Waits until this query counts this number of rows.
pub async fn wait_for_count(connection: &mut Connection, query: &'static str, expected: i64) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let (found,): (i64,) = sql::query_as(query)
            .fetch_one(&mut *connection)
            .await
            .expect("read");
        if found == expected {
            return;
        }
        assert!(tokio::time::Instant::now() < deadline, "{query}: {found}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

impl Drop for OwnedDatabase {
    /// Drops the database. The test waits for this, because a thread that runs while the process exits would use
    /// OpenSSL after its cleanup. If the server has ended with the tests, nothing is left to drop.
    fn drop(&mut self) {
        let server = std::mem::take(&mut self.server);
        let statement = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            let Ok(runtime) = runtime else { return };
            runtime.block_on(async {
                let options = Options::postgres(&server, "", None).expect("a URL");
                if let Ok(mut connection) = options.connect().await {
                    let _ = connection.batch(&statement).await;
                    connection.close().await;
                }
            });
        });
        let _ = dropping.join();
    }
}

/// Opens a connection to the database at this URL.
pub async fn connect(url: &str) -> Connection {
    let options = match url.strip_prefix("sqlite://") {
        Some(file) => Options::sqlite(file, None),
        None => Options::postgres(url, "", None).expect("a URL"),
    };
    options.connect().await.expect("the database")
}

/// The fingerprint of the master key in the heartbeats of a store without an instance.
pub const MASTER_KEY: &str = "a test's master key";

/// Opens a store on the database at this URL, without an instance. All stores have the same key for the hash chain of
/// the audit log.
///
/// # Errors
/// Returns an error if the database cannot be opened, or if the store cannot start.
pub async fn open_store(url: &str) -> Result<Store, StoreError> {
    let chaining = ChainContext::new(
        ChainKey::new(&[7; 32]).expect("a key"),
        Arc::new(SystemEntropy),
    );
    let database = assent_store::Database::open(url).await?;
    Store::start(database, chaining, MASTER_KEY).await
}

/// Executes a write of an administrator about a user, without an audit entry.
///
/// # Errors
/// As [`Store::execute`].
pub async fn write_user(
    store: &Store,
    action: UserAction,
    now: Timestamp,
) -> Result<(), StoreError> {
    let plan = AdminWrites {
        writes: vec![(AdminWrite::User(action), Vec::new())],
        ..AdminWrites::default()
    };
    store.execute(plan, now).await
}

impl Database {
    pub const BOTH: [Self; 2] = [Self::Sqlite, Self::Postgres];

    /// Creates a database. SQLite's database is a file in `folder`.
    pub async fn create(self, folder: &Path) -> DatabaseUrl {
        self.create_with(folder, "").await
    }

    /// Creates a database with the schema of this release. It is a copy of one that was migrated once, which is faster.
    pub async fn create_migrated(self, folder: &Path) -> DatabaseUrl {
        static SQLITE: OnceCell<Vec<u8>> = OnceCell::const_new();
        static POSTGRES: OnceCell<DatabaseUrl> = OnceCell::const_new();
        let migrated = async || {
            let database = self.create(folder).await;
            assent_store::Database::migrate(database.url(), assent_store::MIGRATIONS)
                .await
                .expect("migrated");
            database
        };
        match self {
            Self::Sqlite => {
                let file = folder.join("assent.db");
                let migrate = async || {
                    migrated().await;
                    read_bytes(&file)
                };
                write_file(&file, SQLITE.get_or_init(migrate).await);
                self.create(folder).await
            }
            Self::Postgres => {
                let template = POSTGRES.get_or_init(migrated).await;
                let template = url::Url::parse(template.url()).expect("a URL");
                let name = template.path().trim_start_matches('/');
                self.create_with(folder, &format!("TEMPLATE {name}")).await
            }
        }
    }

    /// Does the same as [`Self::create`], with these options of PostgreSQL's `CREATE DATABASE`.
    pub async fn create_with(self, folder: &Path, extra: &str) -> DatabaseUrl {
        match self {
            Self::Sqlite => {
                let file = folder.join("assent.db");
                DatabaseUrl {
                    url: format!("sqlite://{}", file.display()),
                    owned: None,
                }
            }
            Self::Postgres => {
                let cluster = std::env::var("ASSENT_TEST_POSTGRES").expect(
                    "ASSENT_TEST_POSTGRES is not set: run the tests with `make test` or `scripts/with-postgres`",
                );
                DatabaseUrl::create_at(&cluster, extra).await
            }
        }
    }
}
