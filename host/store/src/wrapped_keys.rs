//! The root secret and the sealing keys, as they are stored.

use crate::migrations::{HEARTBEAT_LIMIT, heartbeat_clock};
use crate::rows::{cell, moment};
use crate::sql::{self, Connection, DatabaseKind, Executor};
use crate::{Database, Result, Store, StoreError, audit};
use assent_model::audit::Entry;
use assent_model::wrapped_key::{WrappedKey, WrappedKeyPurpose};

crate::sql::row! {
    struct WrappedKeyRow of wrapped_keys {
        purpose: String,
        generation: i64,
        master_key: String,
        wrapped: String,
        seals_from: i64,
    }
}

impl TryFrom<WrappedKeyRow> for WrappedKey {
    type Error = StoreError;
    fn try_from(row: WrappedKeyRow) -> Result<Self> {
        let found = row.generation.to_string();
        let unexpected = || cell("wrapped_keys", "generation", &found).unexpected();
        let purpose = match row.purpose.as_str() {
            "root" => WrappedKeyPurpose::Root,
            _ => WrappedKeyPurpose::Sealing(row.generation.try_into().map_err(|_| unexpected())?),
        };
        Ok(Self {
            purpose,
            master_key: row.master_key,
            wrapped: row.wrapped,
            seals_from: moment(row.seals_from),
        })
    }
}

/// The columns that say what a key is for.
const fn columns(purpose: WrappedKeyPurpose) -> (&'static str, u32) {
    match purpose {
        WrappedKeyPurpose::Root => ("root", 0),
        WrappedKeyPurpose::Sealing(generation) => ("sealing", generation),
    }
}

/// All wrapped keys, in the order of their generations.
pub(crate) async fn read_all(db: impl Executor) -> Result<Vec<WrappedKey>> {
    let rows: Vec<WrappedKeyRow> = sql::query_as(sql::statement!(
        "SELECT ",
        WrappedKeyRow::COLUMNS,
        " FROM wrapped_keys ORDER BY purpose, generation, master_key"
    ))
    .fetch_all(db)
    .await?;
    rows.into_iter().map(WrappedKey::try_from).collect()
}

/// Whether the key was added: there was none for this purpose and this master key.
async fn insert(db: impl Executor, key: &WrappedKey) -> sql::Result<bool> {
    let (purpose, generation) = columns(key.purpose);
    let inserted = sql::query(
        "INSERT INTO wrapped_keys (purpose, generation, master_key, wrapped, seals_from)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (purpose, generation, master_key) DO NOTHING",
    )
    .bind(purpose)
    .bind(i64::from(generation))
    .bind(key.master_key.clone())
    .bind(key.wrapped.clone())
    .bind(key.seals_from.millis())
    .execute(db)
    .await?;
    Ok(inserted == 1)
}

impl Database {
    /// All wrapped keys, in the order of their generations.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn wrapped_keys(&self) -> Result<Vec<WrappedKey>> {
        read_all(&self.readers).await
    }

    /// Adds a wrapped key, unless there is one for its purpose and its master key: of instances that start at the same
    /// time, one adds it.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn add_wrapped_key(&self, key: &WrappedKey) -> Result<()> {
        let mut lease = self.writers.lease().await?;
        let added = insert(&mut *lease, key).await;
        lease.end(added.as_ref().err());
        added?;
        Ok(())
    }

    /// Lets the heartbeats of this instance name its master key.
    #[must_use]
    pub fn with_master_key(mut self, fingerprint: &str) -> Self {
        self.master_key = Some(fingerprint.to_owned());
        self
    }
}

/// What became of a new sealing key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewSealingKey {
    /// It was added.
    Added,
    /// Another instance has added one.
    Known,
    /// So many instances have another master key. It waits for them.
    Waits(i64),
}

impl Store {
    /// All wrapped keys, in the order of their generations.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn wrapped_keys(&self) -> Result<Vec<WrappedKey>> {
        read_all(&self.readers).await
    }

    /// Adds a sealing key, and deletes all keys that are wrapped with another master key than this one is. Waits until
    /// all instances have that master key, because the others could not read the new key.
    ///
    /// # Errors
    /// If the database fails, or the audit log cannot be extended.
    pub async fn add_sealing_key(&self, key: WrappedKey, entry: Entry) -> Result<NewSealingKey> {
        let kind = self.instance.kind;
        self.write(move |db| {
            let (key, entry) = (key.clone(), entry.clone());
            Box::pin(async move {
                let others = others(kind, db, &key.master_key).await?;
                if others > 0 {
                    return Ok(NewSealingKey::Waits(others));
                }
                if !insert(&mut *db, &key).await? {
                    return Ok(NewSealingKey::Known);
                }
                sql::query(
                    "DELETE FROM wrapped_keys WHERE master_key <> $1 AND EXISTS (
                         SELECT 1 FROM wrapped_keys own
                         WHERE own.purpose = wrapped_keys.purpose AND own.generation = wrapped_keys.generation
                           AND own.master_key = $1)",
                )
                .bind(key.master_key.clone())
                .execute(&mut *db)
                .await?;
                audit::append(db, &[entry]).await?;
                Ok(NewSealingKey::Added)
            })
        })
        .await
    }

    /// Deletes the sealing keys of these generations. Whether there was one.
    ///
    /// # Errors
    /// If the database fails, or the audit log cannot be extended.
    pub async fn delete_sealing_keys(&self, below: u32, entry: Entry) -> Result<bool> {
        self.write(move |db| {
            let entry = entry.clone();
            Box::pin(async move {
                let deleted = sql::query(
                    "DELETE FROM wrapped_keys WHERE purpose = 'sealing' AND generation < $1",
                )
                .bind(i64::from(below))
                .execute(&mut *db)
                .await?;
                audit::append_if(db, deleted > 0, &[entry]).await
            })
        })
        .await
    }
}

impl Store {
    /// How many running instances have another master key than this one.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn instances_with_other_master_key(&self, master_key: &str) -> Result<i64> {
        let kind = self.instance.kind;
        let mut lease = self.instance.lease().await?;
        let count = others(kind, &mut lease, master_key).await;
        lease.end(count.as_ref().err());
        Ok(count?)
    }
}

/// How many running instances have another master key than this one.
async fn others(kind: DatabaseKind, db: &mut Connection, master_key: &str) -> sql::Result<i64> {
    let now = heartbeat_clock(kind, db).await?;
    let limit = i64::try_from(HEARTBEAT_LIMIT.as_millis()).unwrap_or(i64::MAX);
    let (count,): (i64,) = sql::query_as(
        "SELECT COUNT(*) FROM instances
         WHERE ended_at IS NULL AND seen_at BETWEEN $1 AND $2 AND (master_key IS NULL OR master_key <> $3)",
    )
    .bind(now - limit)
    .bind(now + limit)
    .bind(master_key.to_owned())
    .fetch_one(db)
    .await?;
    Ok(count)
}
