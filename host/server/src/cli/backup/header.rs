//! The header of a backup.

use serde::{Deserialize, Serialize};

use crate::keys::{KeyError, MasterKeys, RootSecret};
use assent_model::audit::chain::Heads;
use assent_model::clock::Timestamp;
use assent_model::entropy::SystemEntropy;
use assent_model::wrapped_key::{WrappedKey, WrappedKeyPurpose};

/// The format of backups that this release writes. A later format has a greater number.
pub(in crate::cli) const FORMAT: u32 = 1;

/// The first member of a backup, as JSON. The second one authenticates it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::cli) struct BackupHeader {
    /// See [`FORMAT`].
    pub(in crate::cli) format: u32,
    /// The release that wrote the backup.
    pub(in crate::cli) assent: String,
    /// The time of the backup (RFC 3339).
    pub(in crate::cli) created_at: String,
    /// The kind of the dumped database.
    pub(in crate::cli) database: DumpKind,
    /// The newest migration of the database.
    pub(in crate::cli) schema_version: i64,
    /// The root secret, wrapped with each master key. It authenticates the header.
    pub(in crate::cli) root_secret: Vec<WrappedRoot>,
    /// The last entry of each lane of the audit log.
    pub(in crate::cli) audit_heads: String,
    /// The size and the digest of the dump, which is the last member.
    pub(in crate::cli) dump: DumpDigest,
}

/// The root secret, wrapped with a master key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::cli) struct WrappedRoot {
    /// The fingerprint of the master key.
    pub(in crate::cli) master_key: String,
    /// The encrypted secret.
    pub(in crate::cli) wrapped: String,
}

impl WrappedRoot {
    /// Returns the copies of the root secret among the wrapped keys of a database.
    pub(super) fn among(keys: &[WrappedKey]) -> Vec<Self> {
        let roots = keys
            .iter()
            .filter(|key| key.purpose == WrappedKeyPurpose::Root);
        roots
            .map(|key| Self {
                master_key: key.master_key.clone(),
                wrapped: key.wrapped.clone(),
            })
            .collect()
    }
}

/// The kind of a dumped database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::cli) enum DumpKind {
    /// SQLite: the dump is the database file.
    Sqlite,
    /// PostgreSQL: the dump is the output of `pg_dump --format=custom`.
    PostgreSql,
}

impl DumpKind {
    /// Returns the kind of the database at this URL.
    pub(in crate::cli) fn of(url: &str) -> Self {
        match url.starts_with("sqlite:") {
            true => Self::Sqlite,
            false => Self::PostgreSql,
        }
    }

    /// Returns the name of the archive's member.
    pub(in crate::cli) const fn member(self) -> &'static str {
        match self {
            Self::Sqlite => "assent.db",
            Self::PostgreSql => "assent.dump",
        }
    }
}

impl std::fmt::Display for DumpKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Sqlite => "SQLite",
            Self::PostgreSql => "PostgreSQL",
        })
    }
}

/// The size and the digest of a dump.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::cli) struct DumpDigest {
    /// The size in bytes.
    pub(in crate::cli) size: u64,
    /// The SHA-256 digest in hexadecimal.
    pub(in crate::cli) sha256: String,
}

impl BackupHeader {
    /// Returns the root secret, if one of these master keys has wrapped it.
    ///
    /// # Errors
    /// If none of them has wrapped it.
    pub(super) fn root_secret(&self, masters: &MasterKeys) -> Result<RootSecret, KeyError> {
        let wrapped: Vec<WrappedKey> = self
            .root_secret
            .iter()
            .map(|root| WrappedKey {
                purpose: WrappedKeyPurpose::Root,
                master_key: root.master_key.clone(),
                wrapped: root.wrapped.clone(),
                seals_from: Timestamp::from_millis(0),
            })
            .collect();
        Ok(masters.unwrap(&wrapped, &SystemEntropy)?.root)
    }

    /// Returns the heads of the audit log; `None` if the text has none.
    pub(in crate::cli) fn heads(&self) -> Option<Heads> {
        Heads::parse(&self.audit_heads)
    }
}

/// Returns the message authentication code of a header under the root secret, in hexadecimal.
pub(super) fn authentication_code(root: &RootSecret, header: &[u8]) -> Result<String, KeyError> {
    Ok(hex::encode(root.derive("backup header", header)?))
}
