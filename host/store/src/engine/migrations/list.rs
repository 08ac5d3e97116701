//! The migrations of this release.

use crate::engine::migrations::migration::Migration;

macro_rules! file {
    ($name:literal) => {
        Migration::new(
            $name,
            include_str!(concat!("../../../migrations/", $name, ".sql")),
        )
    };
}

/// The migrations of this release, in their order.
pub const MIGRATIONS: &[Migration] = &[file!("0001_expand_initial")];

/// The newest version in a list of migrations, which the release expects in the database.
pub(crate) fn schema_version(migrations: &[Migration]) -> i64 {
    migrations.iter().map(Migration::version).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_is_in_the_list_in_its_order() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        let listed: Vec<String> = MIGRATIONS.iter().map(|one| format!("{one}.sql")).collect();
        assert_eq!(files, listed);
        assert!(MIGRATIONS.is_sorted_by(|one, next| one.version < next.version));
    }

    #[test]
    fn concurrent_indexes_have_the_repeatable_form() {
        for migration in MIGRATIONS {
            assert!(migration.concurrent_indexes().is_ok(), "{migration}");
        }
    }
}
