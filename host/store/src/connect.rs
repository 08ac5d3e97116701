//! Opening the database: the one place that knows which of the two it is.

use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::str::FromStr;
use std::sync::Once;
use std::time::Duration;

use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::migrate::Migrator;
use sqlx::{AnyConnection, AnyPool, ConnectOptions, Connection};

use crate::{Result, StoreError};

/// A directive for the log: each start asks PostgreSQL for tables that are there, and its remarks on that are of no use.
pub const QUIET: &str = "sqlx::postgres::notice=warn";

static MIGRATIONS: Migrator = sqlx::migrate!("./migrations");

/// A database that is open and whose tables are up to date.
#[derive(Debug)]
pub struct Database {
    pub(crate) readers: AnyPool,
    pub(crate) writers: AnyPool,
    /// How many connections write: one for SQLite, which lets no two write at once.
    pub(crate) writer_count: u32,
    /// The statement that begins a transaction which will write.
    pub(crate) begin: &'static str,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Sqlite,
    Postgres,
}

impl Database {
    /// Opens the database at `url` (`sqlite://path` or `postgres://...`), making it where it does not exist, and
    /// brings its tables up to date. Safe when several hosts do so at once.
    ///
    /// # Errors
    /// [`StoreError::Open`] if the database cannot be opened or brought up to date.
    pub async fn open(url: &str) -> Result<Self> {
        open(url).await
    }

    /// Whether a master key was used with it: it holds keys that were sealed with one.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn holds_keys(&self) -> Result<bool> {
        let key: Option<(String,)> = sqlx::query_as("SELECT id FROM signing_keys LIMIT 1")
            .fetch_optional(&self.readers)
            .await?;
        Ok(key.is_some())
    }
}

/// Makes both databases known to sqlx. It may be called again.
pub fn install_drivers() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error means that others were installed before: then they are used.
        if let Err(error) =
            sqlx::any::install_drivers(&[sqlx_postgres::any::DRIVER, sqlx_sqlite::any::DRIVER])
        {
            tracing::warn!(%error, "the database drivers were not installed");
        }
    });
}

async fn open(url: &str) -> Result<Database> {
    install_drivers();
    let failed = |reason: String| StoreError::Open {
        url: without_password(url),
        reason,
    };
    let (kind, url) = match url.split_once(':').map(|(scheme, _)| scheme) {
        Some("sqlite") => (Kind::Sqlite, sqlite_url(url).map_err(failed)?),
        Some("postgres" | "postgresql") => (Kind::Postgres, url.to_owned()),
        _ => {
            return Err(failed(
                "expected sqlite://path/to/file or postgres://user@host/database".to_owned(),
            ));
        }
    };
    let options = AnyConnectOptions::from_str(&url)
        .map_err(|error| failed(error.to_string()))?
        .log_statements(tracing::log::LevelFilter::Trace);
    let (reader_count, writer_count) = match kind {
        Kind::Sqlite => (4, 1),
        Kind::Postgres => (8, 4),
    };
    // Once without the pool, which would tell of a time-out and not of the reason.
    let mut first = options
        .connect()
        .await
        .map_err(|error| failed(error.to_string()))?;
    check_order(&mut first).await.map_err(failed)?;
    first
        .close()
        .await
        .map_err(|error| failed(error.to_string()))?;
    let writers = pool(kind, writer_count, &options)
        .await
        .map_err(|error| failed(error.to_string()))?;
    migrate(kind, &writers)
        .await
        .map_err(|error| failed(error.to_string()))?;
    let readers = pool(kind, reader_count, &options)
        .await
        .map_err(|error| failed(error.to_string()))?;
    let begin = match kind {
        // A deferred transaction that read first could not be made a writing one while another writes.
        Kind::Sqlite => "BEGIN IMMEDIATE",
        Kind::Postgres => "BEGIN",
    };
    Ok(Database {
        readers,
        writers,
        writer_count,
        begin,
    })
}

/// Row ids are texts whose order is the order of time, and rows are deleted by it. A database that sorts by the rules of
/// a language may have another: in Danish, "aa" comes after "z".
async fn check_order(connection: &mut AnyConnection) -> std::result::Result<(), String> {
    let question = "SELECT CASE WHEN '9' < 'a' AND 'aa' < 'ab' AND 'a9' < 'aa' AND 'ae' < 'af' THEN 1 ELSE 0 END";
    let (sorted,): (i64,) = sqlx::query_as(question)
        .fetch_one(connection)
        .await
        .map_err(|error| error.to_string())?;
    if sorted == 1 {
        return Ok(());
    }
    Err("it sorts texts by the rules of a language; make it with `createdb --template=template0 --locale=C.UTF-8`"
        .to_owned())
}

async fn pool(kind: Kind, size: u32, options: &AnyConnectOptions) -> sqlx::Result<AnyPool> {
    let pool = AnyPoolOptions::new()
        .max_connections(size)
        .min_connections(1)
        .acquire_timeout(Duration::from_secs(10));
    let pool = match kind {
        Kind::Postgres => pool,
        Kind::Sqlite => pool.after_connect(|connection, _| {
            Box::pin(async move {
                // Writers do not block readers, and a commit is on the disk before it is acknowledged.
                // What was deleted or erased is overwritten, not left in free space.
                for pragma in [
                    "PRAGMA busy_timeout = 10000",
                    "PRAGMA journal_mode = WAL",
                    "PRAGMA synchronous = FULL",
                    "PRAGMA secure_delete = ON",
                ] {
                    execute_when_free(connection, pragma).await?;
                }
                Ok(())
            })
        }),
    };
    pool.connect_with(options.clone()).await
}

/// Changing the journal mode does not wait for another process that does the same, so it is tried again.
async fn execute_when_free(
    connection: &mut sqlx::AnyConnection,
    pragma: &'static str,
) -> sqlx::Result<()> {
    for _ in 0..50 {
        match sqlx::raw_sql(pragma).execute(&mut *connection).await {
            Err(sqlx::Error::Database(error)) if error.message().contains("locked") => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            other => return other.map(drop),
        }
    }
    sqlx::raw_sql(pragma).execute(connection).await.map(drop)
}

/// Brings the tables up to date while no other host does.
async fn migrate(
    kind: Kind,
    pool: &AnyPool,
) -> std::result::Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut connection = pool.acquire().await?;
    match kind {
        // The migrator holds an advisory lock of PostgreSQL's.
        Kind::Postgres => MIGRATIONS.run_direct(None, &mut *connection, false).await?,
        // SQLite has no such lock, but a writing transaction around all of it is one.
        Kind::Sqlite => {
            let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
            MIGRATIONS
                .run_direct(None, &mut *transaction, false)
                .await?;
            transaction.commit().await?;
        }
    }
    Ok(())
}

/// The URL, with the file and its folder made where they are missing. The file holds what people are called and more,
/// so it is its owner's alone; SQLite gives the files that it makes beside it the same mode.
fn sqlite_url(url: &str) -> std::result::Result<String, String> {
    let path = sqlite_file(url).ok_or("expected sqlite://path/to/file, with no parameters")?;
    let cannot = |error: std::io::Error| format!("cannot make {}: {error}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(cannot)?;
    }
    let mut options = std::fs::OpenOptions::new();
    options
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
        .map_err(cannot)?;
    Ok(format!("sqlite://{}?mode=rw", path.display()))
}

/// The file that an SQLite URL names.
pub(crate) fn sqlite_file(url: &str) -> Option<&Path> {
    let path = url.strip_prefix("sqlite:")?;
    let path = path.strip_prefix("//").unwrap_or(path);
    (!path.is_empty() && !path.contains(['?', '#', '%'])).then(|| Path::new(path))
}

/// The URL as it may be shown: without a password, and without parameters, since one of them may be a password.
fn without_password(url: &str) -> String {
    match url::Url::parse(url) {
        Ok(mut parsed) => {
            parsed.set_query(None);
            if parsed.password().is_some() {
                // It fails only for URLs that can't have a password.
                let _ = parsed.set_password(Some("***"));
            }
            parsed.to_string()
        }
        Err(_) => "with this URL".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_password_is_not_shown() {
        assert_eq!(
            super::without_password("postgres://u:hunter2@h/d"),
            "postgres://u:***@h/d"
        );
        assert_eq!(
            super::without_password("postgres://u@h/d?password=hunter2"),
            "postgres://u@h/d"
        );
    }
}
