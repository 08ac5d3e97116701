//! The state of a database at one moment, while instances continue to write.

use std::ffi::OsString;
use std::path::Path;

use crate::engine::connect::Target;
use crate::engine::database_url::sqlite_file;
use crate::engine::sql;
use crate::engine::sql::{Connection, DatabaseKind, Options};
use crate::operations::backup::BackupContent;
use crate::{Result, StoreError};

/// Copies an SQLite database into an empty file. The copy has the state of one moment, and does not contain deleted
/// rows. It does not block writers. The copy is checked before this function returns.
///
/// # Errors
/// If the database cannot be opened or read, or the copy is damaged.
pub async fn copy_sqlite(url: &str, into: &Path) -> Result<BackupContent> {
    let file = sqlite_file(url).filter(|file| file.exists());
    if file.is_none() {
        return Err(crate::engine::connect::failure(
            url,
            "there is no such file".to_owned(),
        ));
    }
    let path = into
        .to_str()
        .ok_or(StoreError::Internal("the backup's path is not UTF-8"))?;
    let target = Target::of(url)?;
    let mut connection = target.connect_to_migrate().await?;
    let copied = sql::query("VACUUM INTO $1")
        .bind(path.to_owned())
        .execute(&mut connection)
        .await;
    connection.close().await;
    copied?;
    let mut copy = Options::sqlite(into, None).connect().await?;
    let content = check_copy(&mut copy).await;
    // Otherwise the copy would need its write-ahead log.
    let closed = copy.batch("PRAGMA journal_mode = DELETE").await;
    copy.close().await;
    let content = content?;
    closed?;
    Ok(content)
}

async fn check_copy(copy: &mut Connection) -> Result<BackupContent> {
    let (verdict,): (String,) = sql::query_as("PRAGMA integrity_check(1)")
        .fetch_one(&mut *copy)
        .await?;
    if verdict != "ok" {
        return Err(StoreError::Damaged(verdict));
    }
    BackupContent::read(copy).await
}

/// A snapshot of a PostgreSQL database, which `pg_dump` imports by its name. It exists until it is ended.
#[derive(Debug)]
pub struct PostgresSnapshot {
    connection: Connection,
    /// The name, for `pg_dump --snapshot`.
    pub name: String,
    /// The major version of the server.
    pub server_version: i64,
    /// The content of the snapshot.
    pub content: BackupContent,
    /// The environment of `pg_dump`. It may contain the password.
    pub variables: Vec<(&'static str, OsString)>,
}

/// All statements see the same state. The transaction is idle while `pg_dump` works.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
     SET LOCAL idle_in_transaction_session_timeout = 0";

impl PostgresSnapshot {
    /// Takes a snapshot of the database at `url`.
    ///
    /// # Errors
    /// If the database cannot be opened or read, or is not a PostgreSQL database.
    pub async fn take(url: &str) -> Result<Self> {
        let target = Target::of(url)?;
        if target.kind != DatabaseKind::Postgres {
            return Err(StoreError::Internal("a snapshot of SQLite"));
        }
        let mut connection = target.connect_to_migrate().await?;
        connection.batch(BEGIN).await?;
        let (name,): (String,) = sql::query_as("SELECT pg_export_snapshot()")
            .fetch_one(&mut connection)
            .await?;
        let server_version = server_version(&mut connection).await?;
        let content = BackupContent::read(&mut connection).await?;
        Ok(Self {
            connection,
            name,
            server_version,
            content,
            variables: target.migration.postgres_variables(),
        })
    }

    /// Ends the snapshot.
    pub async fn end(self) {
        self.connection.close().await;
    }
}

pub(super) async fn server_version(db: &mut Connection) -> sql::Result<i64> {
    let (number,): (i64,) =
        sql::query_as("SELECT CAST(current_setting('server_version_num') AS BIGINT)")
            .fetch_one(db)
            .await?;
    Ok(number / 10_000)
}
