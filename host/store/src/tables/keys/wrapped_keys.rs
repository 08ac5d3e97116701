//! The stored root secret and sealing keys.

use crate::engine::migrations::older_instances::{self, RunningInstance};
use crate::engine::rows::{cell, moment};
use crate::engine::sql;
use crate::engine::sql::{Connection, DatabaseKind, Executor};
use crate::{Database, Result, Store, StoreError, audit};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::wrapped_key::{WrappedKey, WrappedKeyPurpose};

crate::engine::sql::row! {
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

/// The columns that identify the purpose of a key.
const fn columns(purpose: WrappedKeyPurpose) -> (&'static str, u32) {
    match purpose {
        WrappedKeyPurpose::Root => ("root", 0),
        WrappedKeyPurpose::Sealing(generation) => ("sealing", generation),
    }
}

/// All wrapped keys, in the order of their generations.
pub(crate) async fn read_all(db: impl Executor) -> Result<Vec<WrappedKey>> {
    sql::query_as::<WrappedKeyRow>(sql::statement!(
        "SELECT ",
        WrappedKeyRow::COLUMNS,
        " FROM wrapped_keys ORDER BY purpose, generation, master_key"
    ))
    .fetch_values(db)
    .await
}

/// Adds a key. Returns `false` if there was one for this purpose, generation and master key.
async fn insert(db: impl Executor, key: &WrappedKey) -> sql::Result<bool> {
    let (purpose, generation) = columns(key.purpose);
    let inserted = sql::query(
        "INSERT INTO wrapped_keys (purpose, generation, master_key, wrapped, seals_from)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (purpose, generation, master_key) DO NOTHING",
    )
    .bind(purpose)
    .bind(generation)
    .bind(&key.master_key)
    .bind(&key.wrapped)
    .bind(key.seals_from.millis())
    .execute(db)
    .await?;
    Ok(inserted == 1)
}

/// Which keys a database has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredKeys {
    /// None: the database is new.
    None,
    /// Wrapped keys.
    Wrapped,
    /// Signing keys, but none of the wrapped keys with which they are sealed.
    Incomplete,
}

/// Reads both tables in one statement, because another instance may add its first keys at the same time.
async fn stored_keys(db: impl Executor) -> sql::Result<StoredKeys> {
    let (wrapped, signing): (i64, i64) = sql::query_as(
        "SELECT (SELECT COUNT(*) FROM wrapped_keys), (SELECT COUNT(*) FROM signing_keys)",
    )
    .fetch_one(db)
    .await?;
    Ok(match (wrapped, signing) {
        (0, 0) => StoredKeys::None,
        (0, _) => StoredKeys::Incomplete,
        _ => StoredKeys::Wrapped,
    })
}

impl Database {
    /// All wrapped keys, in the order of their generations.
    pub async fn wrapped_keys(&self) -> Result<Vec<WrappedKey>> {
        read_all(&self.readers).await
    }

    /// Which keys the database has.
    pub async fn stored_keys(&self) -> Result<StoredKeys> {
        Ok(stored_keys(&self.readers).await?)
    }

    /// Adds the keys of a new installation: all of them, and only if there are no keys. If several instances start at
    /// the same time, one of them adds its keys.
    pub async fn add_first_wrapped_keys(&self, keys: &[WrappedKey]) -> Result<()> {
        let mut lease = self.writers.lease().await?;
        let added = add_first(self, &mut lease, keys).await;
        lease.end(added.as_ref().err());
        Ok(added?)
    }
}

async fn add_first(
    database: &Database,
    db: &mut Connection,
    keys: &[WrappedKey],
) -> sql::Result<()> {
    db.batch(database.begin).await?;
    let added = add_if_empty(database.kind, db, keys).await;
    let end = if added.is_ok() { "COMMIT" } else { "ROLLBACK" };
    db.batch(end).await?;
    added
}

async fn add_if_empty(
    kind: DatabaseKind,
    db: &mut Connection,
    keys: &[WrappedKey],
) -> sql::Result<()> {
    if kind == DatabaseKind::Postgres {
        db.batch("LOCK TABLE wrapped_keys IN SHARE ROW EXCLUSIVE MODE")
            .await?;
    }
    if stored_keys(&mut *db).await? == StoredKeys::None {
        for key in keys {
            insert(&mut *db, key).await?;
        }
    }
    Ok(())
}

/// The outcome of adding a sealing key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewSealingKey {
    /// It was added.
    Added,
    /// Another instance has added one.
    Known,
    /// The number of instances that still have another master key. The new key waits for them.
    Waits(usize),
    /// There are keys that are not wrapped with the new master key.
    Incomplete,
}

impl Store {
    /// All wrapped keys, in the order of their generations.
    pub async fn wrapped_keys(&self) -> Result<Vec<WrappedKey>> {
        read_all(&self.readers).await
    }

    /// Adds those of these keys that are missing.
    pub async fn add_wrapped_keys(&self, keys: Vec<WrappedKey>) -> Result<()> {
        self.write(keys, |db, keys| {
            Box::pin(async move {
                for key in keys {
                    insert(&mut *db, key).await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// Adds a sealing key, and deletes all keys that are wrapped with another master key than this one. Waits until all
    /// instances have that master key, because the others could not read the new key.
    pub async fn add_sealing_key(&self, key: WrappedKey, entry: Entry) -> Result<NewSealingKey> {
        let kind = self.instance.kind;
        self.write((key, entry), move |db, (key, entry)| {
            Box::pin(async move {
                let instances = older_instances::running(kind, db).await?;
                let others = with_other_master_key(&instances, &key.master_key);
                if others > 0 {
                    return Ok(NewSealingKey::Waits(others));
                }
                let lacking: Option<(i64,)> = sql::query_as(
                    "SELECT 1 FROM wrapped_keys WHERE NOT EXISTS (
                         SELECT 1 FROM wrapped_keys own
                         WHERE own.purpose = wrapped_keys.purpose AND own.generation = wrapped_keys.generation
                           AND own.master_key = $1) LIMIT 1",
                )
                .bind(&key.master_key)
                .fetch_optional(&mut *db)
                .await?;
                if lacking.is_some() {
                    return Ok(NewSealingKey::Incomplete);
                }
                if !insert(&mut *db, key).await? {
                    return Ok(NewSealingKey::Known);
                }
                sql::query("DELETE FROM wrapped_keys WHERE master_key <> $1")
                .bind(&key.master_key)
                .execute(&mut *db)
                .await?;
                audit::append(db, std::slice::from_ref(entry)).await?;
                Ok(NewSealingKey::Added)
            })
        })
        .await
    }

    /// Records until when tokens of sealing keys below this generation may be valid, once the key of this generation
    /// seals.
    pub async fn note_replaced_sealing_keys(&self, below: u32, now: Timestamp) -> Result<()> {
        self.write((), move |db, ()| {
            Box::pin(async move {
                sql::query(
                    "UPDATE wrapped_keys
                     SET needed_until = (SELECT COALESCE(MAX(retain_until), $2) FROM token_families)
                     WHERE purpose = 'sealing' AND generation < $1 AND needed_until IS NULL",
                )
                .bind(below)
                .bind(now.millis())
                .execute(db)
                .await?;
                Ok(())
            })
        })
        .await
    }

    /// Deletes the sealing keys below this generation. Returns whether there was one.
    pub async fn delete_sealing_keys(&self, below: u32, entry: Entry) -> Result<bool> {
        self.write(entry, move |db, entry| {
            Box::pin(async move {
                let deleted = sql::query(
                    "DELETE FROM wrapped_keys WHERE purpose = 'sealing' AND generation < $1",
                )
                .bind(below)
                .execute(&mut *db)
                .await?;
                audit::append_if(db, deleted > 0, std::slice::from_ref(entry)).await
            })
        })
        .await
    }
}

impl Store {
    /// The number of running instances with another master key than this one.
    pub async fn instances_with_other_master_key(&self, master_key: &str) -> Result<usize> {
        let instances = self.running_instances().await?;
        Ok(with_other_master_key(&instances, master_key))
    }
}

fn with_other_master_key(instances: &[RunningInstance], master_key: &str) -> usize {
    let others = instances
        .iter()
        .filter(|other| other.master_key != master_key);
    others.count()
}
