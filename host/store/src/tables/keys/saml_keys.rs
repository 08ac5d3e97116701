//! Keys of SAML service providers.

use crate::engine::batch::loader::Row;
use crate::engine::sql;
use crate::engine::sql::Connection;

use crate::engine::rows::{cell, moment, parse};
use crate::{Result, Store, StoreError, Transition, audit};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::id::{Did, KeyId};
use assent_model::saml::SamlKey;

crate::engine::sql::row! {
    pub(crate) struct KeyRow of saml_keys {
        id: String,
        application_id: String,
        generation: i64,
        sealed: String,
        certificate: String,
        created_at: i64,
        signs_from: i64,
        expires_at: i64,
    }
}

pub(crate) const KEYS_BY_APPLICATION: &str = sql::statement!(
    "SELECT ",
    KeyRow::COLUMNS,
    " FROM saml_keys WHERE application_id IN ({$})"
);

impl Row for KeyRow {
    type Key = String;
    type Value = SamlKey;
    fn key(&self) -> String {
        self.application_id.clone()
    }
}

impl TryFrom<KeyRow> for SamlKey {
    type Error = StoreError;
    fn try_from(row: KeyRow) -> Result<Self> {
        Ok(Self {
            id: parse(&row.id, cell("saml_keys", "id", &row.id))?,
            application: parse(
                &row.application_id,
                cell("saml_keys", "application_id", &row.id),
            )?,
            generation: row.generation,
            sealed: row.sealed,
            certificate: row.certificate,
            created_at: moment(row.created_at),
            signs_from: moment(row.signs_from),
            expires_at: moment(row.expires_at),
        })
    }
}

/// Adds a key. Returns `false` if there is one of this generation.
pub(crate) async fn insert(db: &mut Connection, key: &SamlKey) -> Result<bool> {
    let inserted = sql::query(
        "INSERT INTO saml_keys (id, application_id, generation, sealed, certificate, created_at, signs_from, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (application_id, generation) DO NOTHING",
    )
    .bind(key.id.to_string())
    .bind(key.application.to_string())
    .bind(key.generation)
    .bind(&key.sealed)
    .bind(&key.certificate)
    .bind(key.created_at.millis())
    .bind(key.signs_from.millis())
    .bind(key.expires_at.millis())
    .execute(db)
    .await?;
    Ok(inserted == 1)
}

/// The outcome of the deletion of a service provider's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum KeyDeletion {
    /// It is deleted.
    Deleted,
    /// There is no such key.
    Unknown,
    /// Nothing was done: it is the service provider's last key.
    LastKey,
}

impl Store {
    /// The keys of a service provider.
    pub async fn saml_keys(&self, application: &Did) -> Result<Vec<SamlKey>> {
        self.lookups
            .saml_keys
            .call_all(application.to_string())
            .await
    }

    /// The service providers that need a new key or a cleanup. Their last key expires before `end`, or a key was
    /// succeeded by one that signs since `taken_over` or longer.
    pub async fn saml_keys_due(&self, end: Timestamp, taken_over: Timestamp) -> Result<Vec<Did>> {
        let rows: Vec<(String,)> = sql::query_as(
            "SELECT DISTINCT k.application_id FROM saml_keys k
             WHERE (k.expires_at < $1 AND NOT EXISTS (SELECT 1 FROM saml_keys n
                        WHERE n.application_id = k.application_id AND n.generation > k.generation))
                OR EXISTS (SELECT 1 FROM saml_keys n
                        WHERE n.application_id = k.application_id AND n.generation > k.generation
                          AND n.signs_from <= $2)",
        )
        .bind(end.millis())
        .bind(taken_over.millis())
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter()
            .map(|(did,)| parse(&did, cell("saml_keys", "application_id", &did)))
            .collect()
    }

    /// Stores a key, unless its service provider has a key of this generation. If several instances create the next key
    /// concurrently, one of them stores it. Returns whether this call stored the key.
    pub async fn add_saml_key(&self, key: SamlKey, entry: Entry) -> Result<bool> {
        let _counted = self.counted_write();
        self.write((key, entry), |db, (key, entry)| {
            Box::pin(async move {
                let is_stored = insert(db, key).await?;
                audit::append_if(db, is_stored, std::slice::from_ref(entry)).await
            })
        })
        .await
    }

    /// Lets a published key sign from `now` on.
    pub async fn activate_saml_key(
        &self,
        id: KeyId,
        now: Timestamp,
        entry: Entry,
    ) -> Result<Transition> {
        let _counted = self.counted_write();
        self.write(entry, move |db, entry| {
            Box::pin(async move {
                let changed = sql::query(
                    "UPDATE saml_keys SET signs_from = $2 WHERE id = $1 AND signs_from > $2",
                )
                .bind(id.to_string())
                .bind(now.millis())
                .execute(&mut *db)
                .await?;
                audit::append_if(db, changed == 1, std::slice::from_ref(entry)).await?;
                Ok(Transition::of_rows(changed))
            })
        })
        .await
    }

    /// Deletes a key, unless it is its service provider's last one.
    pub async fn delete_saml_key(&self, id: KeyId, entries: Vec<Entry>) -> Result<KeyDeletion> {
        let _counted = self.counted_write();
        self.write(entries, move |db, entries| {
            Box::pin(async move {
                // The lock serializes two concurrent deletions. Otherwise each of them would see the other's key.
                sql::query(
                    "UPDATE applications SET version = version
                     WHERE id = (SELECT application_id FROM saml_keys WHERE saml_keys.id = $1)",
                )
                .bind(id.to_string())
                .execute(&mut *db)
                .await?;
                let deleted = sql::query(
                    "DELETE FROM saml_keys WHERE id = $1 AND EXISTS (SELECT 1 FROM saml_keys o
                        WHERE o.application_id = saml_keys.application_id AND o.id <> saml_keys.id)",
                )
                .bind(id.to_string())
                .execute(&mut *db)
                .await?;
                if deleted == 1 {
                    audit::append(db, entries).await?;
                    return Ok(KeyDeletion::Deleted);
                }
                let left: Option<(String,)> = sql::query_as("SELECT id FROM saml_keys WHERE id = $1")
                    .bind(id.to_string())
                    .fetch_optional(db)
                    .await?;
                Ok(left.map_or(KeyDeletion::Unknown, |_| KeyDeletion::LastKey))
            })
        })
        .await
    }
}
