//! Migrations of the schema beside running instances.

mod commands;
mod interruptions;
mod kinds;
mod upgrade;

use assent_store::sql::{self, Connection};
use assent_store::{Database, MIGRATIONS, Migration, MigrationOutcome, StoreError};

use crate::harness::{Database as Kind, DatabaseUrl, open_store, temp_folder};

/// Returns the migrations of a newer release: the ones of this release, and further ones.
fn newer(more: &[Migration]) -> &'static [Migration] {
    [MIGRATIONS, more].concat().leak()
}

/// A database with the schema of this release, and a connection of the test.
struct Fixture {
    url: DatabaseUrl,
    connection: Connection,
    _folder: tempfile::TempDir,
}

impl Fixture {
    async fn new(database: Kind) -> Self {
        let folder = temp_folder();
        let url = database.create(folder.path()).await;
        open_store(url.url()).await.expect("a store").close().await;
        let connection = url.connection().await;
        Self {
            url,
            connection,
            _folder: folder,
        }
    }

    /// Applies the migrations of a newer release.
    async fn migrate(&self, migrations: &[Migration]) -> Result<MigrationOutcome, StoreError> {
        Database::migrate(self.url.url(), migrations).await
    }

    async fn add_users(&mut self, names: &[&str]) {
        for name in names {
            sql::query(
                "INSERT INTO users (id, did, subject, name, search_key, profile, state, version, created_at, updated_at)
                 VALUES ($1, $1, $1, $1, $1, '{}', 'active', 1, 0, 0)",
            )
            .bind((*name).to_owned())
            .execute(&mut self.connection)
            .await
            .expect("inserted");
        }
    }

    /// Returns the texts of a column.
    async fn texts(&mut self, statement: &'static str) -> Vec<String> {
        let rows: Vec<(String,)> = sql::query_as(statement)
            .fetch_all(&mut self.connection)
            .await
            .expect("rows");
        rows.into_iter().map(|(text,)| text).collect()
    }

    /// Returns the names of the applied migrations that this release does not have.
    async fn applied(&mut self) -> Vec<String> {
        let mut names = self
            .texts("SELECT name FROM schema_migrations ORDER BY version")
            .await;
        names.split_off(MIGRATIONS.len())
    }
}

/// Returns the file names of migrations.
fn names(migrations: &[Migration]) -> Vec<String> {
    migrations.iter().map(ToString::to_string).collect()
}
