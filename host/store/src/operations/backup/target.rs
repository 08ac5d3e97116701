//! The target of a restore: a database that does not exist yet, or is empty.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::engine::connect::{Target, check_order, failure};
use crate::engine::database_url::sqlite_path;
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::operations::backup::marker;
use crate::{Result, StoreError};

/// The endings of SQLite's other files. Such a file of an earlier database would become part of the restored one.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// The target of a restore.
#[derive(Debug)]
pub enum RestoreTarget {
    /// A file that does not exist.
    Sqlite(PathBuf),
    /// An empty PostgreSQL database.
    Postgres(PostgresTarget),
}

/// An empty PostgreSQL database.
#[derive(Debug)]
pub struct PostgresTarget {
    connection: Connection,
    /// The major version of the server.
    pub server_version: i64,
    /// The environment of `pg_restore`. It may contain the password.
    pub variables: Vec<(&'static str, OsString)>,
}

impl RestoreTarget {
    /// Opens the empty database at `url`. Changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Open`] if the database is not empty, instances use it, or it cannot be opened.
    pub async fn empty(url: &str) -> Result<Self> {
        if url.starts_with("sqlite:") {
            let file = sqlite_path(url).map_err(|reason| failure(url, reason))?;
            ensure_no_file(url, &file)?;
            return Ok(Self::Sqlite(file));
        }
        let target = Target::of(url)?;
        let mut connection = target
            .migration
            .connect()
            .await
            .map_err(|error| failure(url, error.to_string()))?;
        ensure_empty(url, &mut connection).await?;
        let server_version = super::snapshot::server_version(&mut connection).await?;
        Ok(Self::Postgres(PostgresTarget {
            connection,
            server_version,
            variables: target.migration.postgres_variables(),
        }))
    }
}

/// Fails if the file, or one of SQLite's other files for it, exists.
pub(super) fn ensure_no_file(url: &str, file: &Path) -> Result<()> {
    let names = std::iter::once("").chain(BESIDE).map(|ending| {
        let mut name = file.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    });
    for name in names {
        if name.symlink_metadata().is_ok() {
            let reason = format!(
                "{} exists, and a restore does not replace a database. Stop Assent, and move the database and its \
                 files -wal and -shm to another folder",
                name.display()
            );
            return Err(failure(url, reason));
        }
    }
    Ok(())
}

/// Tables, views, sequences and similar objects that belong to no extension.
const OBJECTS: &str = "SELECT COUNT(*) FROM pg_class
     JOIN pg_namespace ON pg_namespace.oid = pg_class.relnamespace
     WHERE pg_class.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
       AND pg_namespace.nspname <> 'information_schema' AND pg_namespace.nspname NOT LIKE 'pg\\_%'
       AND NOT EXISTS (SELECT 1 FROM pg_depend
                       WHERE pg_depend.classid = CAST('pg_class' AS regclass) AND pg_depend.objid = pg_class.oid
                         AND pg_depend.deptype = 'e')";

/// Other connections of Assent. A running instance would reconnect to a new database with the same name.
const INSTANCES: &str = "SELECT COUNT(*) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'assent' AND pid <> pg_backend_pid()";

async fn ensure_empty(url: &str, connection: &mut Connection) -> Result<()> {
    check_order(connection)
        .await
        .map_err(|reason| failure(url, reason))?;
    let (objects,): (i64,) = sql::query_as(OBJECTS).fetch_one(&mut *connection).await?;
    if objects > 0 {
        return Err(failure(
            url,
            "it is not empty, and a restore does not replace a database. Create an empty one, for example with \
             `createdb --template=template0 --locale=C.UTF-8 NAME`, and name it in database.url"
                .to_owned(),
        ));
    }
    let (instances,): (i64,) = sql::query_as(INSTANCES).fetch_one(connection).await?;
    if instances > 0 {
        return Err(failure(
            url,
            format!("{instances} connections of Assent use it. Stop all instances, then restore"),
        ));
    }
    Ok(())
}

impl PostgresTarget {
    /// Marks the database, so that no instance opens it until the restore is finished.
    pub async fn mark(&mut self) -> Result<()> {
        Ok(marker::create(&mut self.connection).await?)
    }

    /// Removes the mark from a database that is still empty otherwise. If it contains anything, it stays marked,
    /// because the outcome of a commit is unknown if the connection was lost meanwhile.
    ///
    /// # Errors
    /// If the database is not empty.
    pub async fn give_up(mut self) -> Result<()> {
        let removed = self.remove_only_mark().await;
        self.connection.close().await;
        removed
    }

    async fn remove_only_mark(&mut self) -> Result<()> {
        let (objects,): (i64,) = sql::query_as(OBJECTS)
            .fetch_one(&mut self.connection)
            .await?;
        if objects > 1 {
            return Err(StoreError::Restore(
                "the database is not empty any more, and no instance can open it; drop it, create an empty one, and \
                 restore again"
                    .to_owned(),
            ));
        }
        Ok(marker::remove(&mut self.connection).await?)
    }

    /// Closes the connection. The database stays marked.
    pub async fn close(self) {
        self.connection.close().await;
    }
}
