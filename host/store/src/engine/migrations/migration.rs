//! A migration of the schema.

use futures_util::future::BoxFuture;

use crate::engine::migrations::indexes::ConcurrentIndex;
use crate::engine::migrations::older_instances::OlderInstance;
use crate::engine::sql;
use crate::engine::sql::{Connection, DatabaseKind};
use assent_model::secret::Digest;

/// The effect of a migration on instances of earlier releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum MigrationKind {
    /// It adds to the schema. Earlier releases continue to work.
    Expand,
    /// It removes parts that earlier releases use. It is applied once none of them runs.
    Contract,
}
assent_model::enum_texts!(MigrationKind);

/// One slice of a backfill. It writes up to `limit` rows with ids that follow `after`, which is empty at first. It
/// returns the id after which the next slice continues, or `None` if there are no more rows. A slice may run again.
pub type Backfill = for<'c> fn(
    connection: &'c mut Connection,
    after: String,
    limit: i64,
) -> BoxFuture<'c, sql::Result<Option<String>>>;

/// A migration of the schema. A released migration is never changed.
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    pub(crate) version: i64,
    pub(crate) kind: MigrationKind,
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
    pub(crate) backfill: Option<Backfill>,
}

impl Migration {
    /// Returns the migration of a file. `file` is its name without the extension, such as
    /// `0002_expand_application_notes`: four digits, the kind, and a name of lowercase letters, digits and underscores.
    ///
    /// # Panics
    /// If the name has another form. For a constant this is a compiler error.
    #[allow(
        clippy::panic,
        reason = "the list of migrations is a constant, so the compiler reports it"
    )]
    pub const fn new(file: &'static str, text: &'static str) -> Self {
        match parse_name(file) {
            Some((version, kind, name)) => Self {
                version,
                kind,
                name,
                text,
                backfill: None,
            },
            None => panic!("expected a name such as 0002_expand_application_notes"),
        }
    }

    /// Adds a backfill. It runs after the statements of an expanding migration. It runs before those of a contracting
    /// one, which remove the data that the backfill reads.
    #[must_use]
    pub const fn with_backfill(self, backfill: Backfill) -> Self {
        Self {
            backfill: Some(backfill),
            ..self
        }
    }

    /// The position in the sequence.
    pub const fn version(&self) -> i64 {
        self.version
    }

    /// The effect on instances of earlier releases.
    pub const fn kind(&self) -> MigrationKind {
        self.kind
    }

    /// The name without number and kind.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn digest(&self) -> String {
        Digest::sha256(self.text.as_bytes()).to_text()
    }

    /// The statements for execution within a transaction. Lines that begin with `--sqlite` or `--postgresql` are
    /// statements of that database, and comments to the other one.
    pub(crate) fn transactional_text(&self, kind: DatabaseKind) -> String {
        let mark = match kind {
            DatabaseKind::Sqlite => "\n--sqlite ",
            DatabaseKind::Postgres => "\n--postgresql ",
        };
        self.text.replace(" CONCURRENTLY ", " ").replace(mark, "\n")
    }

    /// The indexes that the migration builds concurrently. Such a migration has no other statements.
    ///
    /// # Errors
    /// The statement with another form.
    pub(crate) fn concurrent_indexes(&self) -> Result<Vec<ConcurrentIndex>, String> {
        let code: String = self
            .text
            .lines()
            .map(|line| line.split("--").next().unwrap_or_default())
            .flat_map(|line| [line, "\n"])
            .collect();
        if !code.contains(" CONCURRENTLY ") {
            return Ok(Vec::new());
        }
        code.split(';')
            .map(str::trim)
            .filter(|statement| !statement.is_empty())
            .map(|statement| ConcurrentIndex::parse(statement).ok_or_else(|| statement.to_owned()))
            .collect()
    }
}

impl std::fmt::Display for Migration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (kind, name) = (self.kind.as_str(), self.name);
        write!(f, "{:04}_{kind}_{name}", self.version)
    }
}

const fn parse_name(file: &'static str) -> Option<(i64, MigrationKind, &'static str)> {
    let (number, kind, name) = match file.as_bytes() {
        [
            a,
            b,
            c,
            d,
            b'_',
            b'e',
            b'x',
            b'p',
            b'a',
            b'n',
            b'd',
            b'_',
            name @ ..,
        ] => ([*a, *b, *c, *d], MigrationKind::Expand, name),
        [
            a,
            b,
            c,
            d,
            b'_',
            b'c',
            b'o',
            b'n',
            b't',
            b'r',
            b'a',
            b'c',
            b't',
            b'_',
            name @ ..,
        ] => ([*a, *b, *c, *d], MigrationKind::Contract, name),
        _ => return None,
    };
    let mut version = 0;
    let mut digits = number.as_slice();
    while let Some((digit, rest)) = digits.split_first() {
        if !digit.is_ascii_digit() {
            return None;
        }
        version = version * 10 + (*digit - b'0') as i64;
        digits = rest;
    }
    let mut letters = name;
    while let Some((letter, rest)) = letters.split_first() {
        if !matches!(letter, b'a'..=b'z' | b'0'..=b'9' | b'_') {
            return None;
        }
        letters = rest;
    }
    match std::str::from_utf8(name) {
        Ok(name) if !name.is_empty() && version > 0 => Some((version, kind, name)),
        _ => None,
    }
}

/// The outcome of applying migrations.
#[derive(Clone, Debug, Default)]
pub struct MigrationOutcome {
    /// The migrations that were applied or completed, in their order.
    pub applied: Vec<Migration>,
    /// The contracting migrations that wait for the end of older instances.
    pub postponed: Vec<PostponedMigration>,
}

/// A postponed contracting migration.
#[derive(Clone, Debug)]
pub struct PostponedMigration {
    /// The migration.
    pub migration: Migration,
    /// The running instances that do not know it.
    pub instances: Vec<OlderInstance>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_has_a_number_a_kind_and_a_name() {
        assert_eq!(
            parse_name("0002_expand_application_notes"),
            Some((2, MigrationKind::Expand, "application_notes"))
        );
        assert_eq!(
            parse_name("1234_contract_x2"),
            Some((1234, MigrationKind::Contract, "x2"))
        );
        for wrong in [
            "0002_application_notes",
            "0002_expands_x",
            "0002_expand_",
            "002_expand_x",
            "00a2_expand_x",
            "0000_expand_x",
            "0002_expand_X",
            "0002_contract-x",
        ] {
            assert_eq!(parse_name(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn concurrent_indexes_are_the_only_statements_of_their_migration() {
        let index = |text| Migration::new("0002_expand_x", text).concurrent_indexes();
        let two = "-- Comment; with a semicolon.\nCREATE INDEX CONCURRENTLY IF NOT EXISTS a ON t (x);\n\
                   CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS b ON t (y) WHERE y > 0;\n";
        let found = index(two).unwrap();
        let names: Vec<&str> = found.iter().map(|index| index.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(index("CREATE INDEX a ON t (x)").unwrap(), []);
        for wrong in [
            "CREATE INDEX CONCURRENTLY a ON t (x)",
            "CREATE INDEX CONCURRENTLY IF NOT EXISTS a ON t (x); DROP TABLE u",
        ] {
            assert!(index(wrong).is_err(), "{wrong}");
        }
    }
}
