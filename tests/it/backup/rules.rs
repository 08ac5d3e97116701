//! Each table has a rule for the restore.

use std::collections::BTreeSet;

use assent_store::{RESTORE_RULES, sql};
use assent_test_macros::both_databases;

use crate::harness::{Database, temp_folder};

#[both_databases]
async fn each_table_has_a_rule(database: Database) {
    let folder = temp_folder();
    let url = database.create(folder.path()).await;
    assent_store::Database::migrate(url.url(), assent_store::MIGRATIONS)
        .await
        .expect("migrated");
    let mut connection = url.connection().await;
    let tables: Vec<(String,)> = sql::query_as(match database {
        Database::Sqlite => {
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        }
        Database::Postgres => {
            "SELECT CAST(relname AS TEXT) FROM pg_class
             WHERE relkind IN ('r', 'p') AND NOT relispartition
               AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'public')"
        }
    })
    .fetch_all(&mut connection)
    .await
    .expect("tables");
    connection.close().await;
    let tables: BTreeSet<String> = tables.into_iter().map(|(name,)| name).collect();
    let rules: BTreeSet<String> = RESTORE_RULES
        .iter()
        .map(|rule| rule.table.to_owned())
        .collect();
    assert_eq!(
        rules, tables,
        "decide in host/store/src/operations/backup/rules.rs what a restore does with each table"
    );
    assert_eq!(rules.len(), RESTORE_RULES.len(), "a table has one rule");
}
