//! Databases for tests: each test has one of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use assent_model::audit::chain::ChainKey;
use assent_model::entropy::{Entropy, SystemEntropy};
use assent_store::sql::{Connection, Options};
use assent_store::{ChainContext, Store, StoreError};
use tokio::sync::OnceCell;

/// Which database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Database {
    Sqlite,
    Postgres,
}

/// The URL of a test's own database.
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    pub fn url(&self) -> &str {
        &self.0
    }

    /// A fresh database of the PostgreSQL server at this URL, with these options of `CREATE DATABASE`.
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
        Self(url.to_string())
    }

    /// The socket of the PostgreSQL server.
    pub fn socket(&self) -> PathBuf {
        let url = url::Url::parse(&self.0).expect("a URL");
        let (_, folder) = url
            .query_pairs()
            .find(|(name, _)| name == "host")
            .expect("the folder of a socket");
        Path::new(folder.as_ref()).join(".s.PGSQL.5432")
    }

    /// The database of the same name at the server with its socket in this folder.
    pub fn at_socket_of(&self, folder: &Path) -> Self {
        let mut url = url::Url::parse(&self.0).expect("a URL");
        url.set_query(Some(&format!("host={}", folder.display())));
        Self(url.to_string())
    }

    /// The same database behind a proxy.
    pub fn behind(&self, port: u16) -> Self {
        let mut url = url::Url::parse(&self.0).expect("a URL");
        url.set_query(None);
        url.set_host(Some("127.0.0.1")).expect("a host");
        url.set_port(Some(port)).expect("a port");
        Self(url.to_string())
    }

    /// A connection of the test, for reads and writes that the APIs do not offer.
    pub async fn connection(&self) -> Connection {
        connect(&self.0).await
    }
}

/// A connection to the database at this URL.
pub async fn connect(url: &str) -> Connection {
    let options = match url.strip_prefix("sqlite://") {
        Some(file) => Options::sqlite(file),
        None => Options::postgres(url, "", None).expect("a URL"),
    };
    options.connect().await.expect("the database")
}

/// A store on the database at this URL, without a host. All of them have one key for the chain of the audit log.
pub async fn open_store(url: &str) -> Result<Store, StoreError> {
    let chaining = ChainContext::new(ChainKey::new([7; 32]), Arc::new(SystemEntropy));
    Store::start(assent_store::Database::open(url).await?, chaining).await
}

impl Database {
    pub const BOTH: [Self; 2] = [Self::Sqlite, Self::Postgres];

    /// A fresh database; SQLite's is a file in `folder`.
    pub async fn create(self, folder: &Path) -> DatabaseUrl {
        self.create_with(folder, "").await
    }

    /// A fresh database with the schema of this release. PostgreSQL copies one that was migrated once, which is faster.
    pub async fn create_migrated(self, folder: &Path) -> DatabaseUrl {
        static MIGRATED: OnceCell<String> = OnceCell::const_new();
        if self == Self::Sqlite {
            return self.create(folder).await;
        }
        let migrate = || async {
            let database = self.create(folder).await;
            assent_store::Database::migrate(database.url(), assent_store::MIGRATIONS)
                .await
                .expect("migrated");
            let url = url::Url::parse(database.url()).expect("a URL");
            url.path().trim_start_matches('/').to_owned()
        };
        let template = MIGRATED.get_or_init(migrate).await;
        self.create_with(folder, &format!("TEMPLATE {template}"))
            .await
    }

    /// The same as [`Self::create`], with these options of PostgreSQL's `CREATE DATABASE`.
    pub async fn create_with(self, folder: &Path, extra: &str) -> DatabaseUrl {
        match self {
            Self::Sqlite => DatabaseUrl(format!("sqlite://{}", folder.join("assent.db").display())),
            Self::Postgres => {
                let cluster = std::env::var("ASSENT_TEST_POSTGRES").expect(
                    "ASSENT_TEST_POSTGRES is not set: run the tests with `make test` or `scripts/with-postgres`",
                );
                DatabaseUrl::create_at(&cluster, extra).await
            }
        }
    }
}
