//! Signing keys.

use crate::engine::sql;
use crate::engine::sql::{Connection, Executor};
use serde_json::Value;

use crate::engine::rows::{cell, from_json, moment, parse, to_json};
use crate::{Result, Store, StoreError, audit};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::id::KeyId;
use assent_model::key::{KeyMaterial, KeyPurpose, KeyTimes, SigningKey, signing_at};

const ALL: &str =
    "SELECT id, purpose, generation, sealed, public_jwk, created_at, signs_from, revoked_at
                   FROM signing_keys ORDER BY purpose, generation";

crate::engine::sql::row! {
    struct KeyRow {
        id: String,
        purpose: String,
        generation: i64,
        sealed: Option<String>,
        public_jwk: Option<String>,
        created_at: i64,
        signs_from: i64,
        revoked_at: Option<i64>,
    }
}

impl TryFrom<KeyRow> for SigningKey {
    type Error = StoreError;
    fn try_from(row: KeyRow) -> Result<Self> {
        let material = match (row.sealed, row.public_jwk) {
            (Some(sealed), None) => KeyMaterial::Sealed(sealed),
            (None, Some(public)) => KeyMaterial::Public(from_json(
                &public,
                cell("signing_keys", "public_jwk", &row.id),
            )?),
            _ => {
                return Err(cell("signing_keys", "sealed", &row.id).unexpected());
            }
        };
        Ok(Self {
            id: parse(&row.id, cell("signing_keys", "id", &row.id))?,
            purpose: parse(&row.purpose, cell("signing_keys", "purpose", &row.id))?,
            material,
            times: KeyTimes {
                generation: row.generation,
                published_at: moment(row.created_at),
                signs_from: moment(row.signs_from),
                revoked_at: row.revoked_at.map(moment),
            },
        })
    }
}

/// All keys; those of each purpose in the order of their generations.
pub(crate) async fn read_all(db: impl Executor) -> Result<Vec<SigningKey>> {
    sql::query_as::<KeyRow>(ALL).fetch_values(db).await
}

impl Store {
    /// All keys; those of each purpose in the order of their generations.
    pub async fn signing_keys(&self) -> Result<Vec<SigningKey>> {
        read_all(&self.readers).await
    }

    /// Stores a key, unless its purpose has a key of this generation. If several instances create the next key
    /// concurrently, one of them stores it. Returns whether this call stored the key.
    pub async fn add_key(&self, key: SigningKey, entries: Vec<Entry>) -> Result<bool> {
        self.write((key, entries), |db, (key, entries)| {
            Box::pin(async move {
                let is_stored = insert(db, key).await?;
                audit::append_if(db, is_stored, entries).await
            })
        })
        .await
    }

    /// Lets a published key sign from `now` on. Returns `false` if it signs already or is revoked; then nothing
    /// happens.
    pub async fn activate_signing_key(
        &self,
        id: KeyId,
        now: Timestamp,
        entry: Entry,
    ) -> Result<bool> {
        self.write(entry, move |db, entry| {
            Box::pin(async move {
                let sooner = sign_from(db, id, now).await?;
                audit::append_if(db, sooner, std::slice::from_ref(entry)).await
            })
        })
        .await
    }

    /// Revokes a key: deletes its private key and keeps `public_jwk`. If the key was signing, another one signs from
    /// `now` on: the published key, or else `fresh`, for which this function assigns the generation. Returns `false` if
    /// the key was revoked before.
    pub async fn revoke_key(
        &self,
        id: KeyId,
        public_jwk: Value,
        fresh: SigningKey,
        entries: Vec<Entry>,
        now: Timestamp,
    ) -> Result<bool> {
        let input = (public_jwk, fresh, entries);
        self.write(input, move |db, (public_jwk, fresh, entries)| {
            Box::pin(async move {
                let keys = lock_keys(db, fresh.purpose).await?;
                let times: Vec<KeyTimes> = keys.iter().map(|key| key.times).collect();
                let signing = signing_at(&times, now).map(|key| key.generation);
                let revoked: Option<(i64,)> = sql::query_as(
                    "UPDATE signing_keys SET revoked_at = $2, sealed = NULL, public_jwk = $3
                     WHERE id = $1 AND revoked_at IS NULL RETURNING generation",
                )
                .bind(id.to_string())
                .bind(now.millis())
                .bind(to_json(public_jwk)?)
                .fetch_optional(&mut *db)
                .await?;
                let Some((revoked,)) = revoked else {
                    return Ok(false);
                };
                audit::append(db, entries).await?;
                if signing != Some(revoked) {
                    return Ok(true);
                }
                match keys
                    .iter()
                    .find(|key| key.times.generation > revoked && key.times.revoked_at.is_none())
                {
                    Some(next) => sign_from(db, next.id, now).await?,
                    None => insert_to_sign(db, fresh, 1 + highest_generation(&times), now).await?,
                };
                Ok(true)
            })
        })
        .await
    }

    /// Deletes the private key of a key that does not sign any more, and keeps the public key.
    pub async fn delete_private_key(&self, id: KeyId, public_jwk: Value) -> Result<()> {
        self.write(public_jwk, move |db, public_jwk| {
            Box::pin(async move {
                sql::query(
                    "UPDATE signing_keys SET sealed = NULL, public_jwk = $2 WHERE id = $1 AND sealed IS NOT NULL",
                )
                .bind(id.to_string())
                .bind(to_json(public_jwk)?)
                .execute(db)
                .await?;
                Ok(())
            })
        })
        .await
    }

    /// Deletes a key.
    pub async fn delete_key(&self, id: KeyId) -> Result<()> {
        self.write((), move |db, ()| {
            Box::pin(async move {
                sql::query("DELETE FROM signing_keys WHERE id = $1")
                    .bind(id.to_string())
                    .execute(db)
                    .await?;
                Ok(())
            })
        })
        .await
    }
}

/// Returns the keys of a purpose. It first locks the row of the last key, so that revocations are serialized.
async fn lock_keys(db: &mut Connection, purpose: KeyPurpose) -> Result<Vec<SigningKey>> {
    sql::query(
        "UPDATE signing_keys SET generation = generation
         WHERE purpose = $1 AND generation = (SELECT MAX(generation) FROM signing_keys WHERE purpose = $1)",
    )
    .bind(purpose.as_str())
    .execute(&mut *db)
    .await?;
    let mut keys = read_all(db).await?;
    keys.retain(|key| key.purpose == purpose);
    Ok(keys)
}

fn highest_generation(times: &[KeyTimes]) -> i64 {
    times
        .iter()
        .map(|key| key.generation)
        .max()
        .unwrap_or_default()
}

async fn sign_from(db: &mut Connection, id: KeyId, now: Timestamp) -> Result<bool> {
    let changed =
        sql::query("UPDATE signing_keys SET signs_from = $2 WHERE id = $1 AND signs_from > $2 AND revoked_at IS NULL")
            .bind(id.to_string())
            .bind(now.millis())
            .execute(db)
            .await?;
    Ok(changed == 1)
}

/// Adds a key. Returns `false` if there is one of this generation.
async fn insert(db: &mut Connection, key: &SigningKey) -> Result<bool> {
    let (sealed, public_jwk) = match &key.material {
        KeyMaterial::Sealed(sealed) => (Some(sealed.clone()), None),
        KeyMaterial::Public(public) => (None, Some(to_json(public)?)),
    };
    let inserted = sql::query(
        "INSERT INTO signing_keys (id, purpose, generation, sealed, public_jwk, created_at, signs_from, revoked_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (purpose, generation) DO NOTHING",
    )
    .bind(key.id.to_string())
    .bind(key.purpose.as_str())
    .bind(key.times.generation)
    .bind(sealed)
    .bind(public_jwk)
    .bind(key.times.published_at.millis())
    .bind(key.times.signs_from.millis())
    .bind(key.times.revoked_at.map(Timestamp::millis))
    .execute(db)
    .await?;
    Ok(inserted == 1)
}

/// Adds a key that signs from `now` on. If another instance has published a key of this generation since the keys were
/// read, that key signs instead.
async fn insert_to_sign(
    db: &mut Connection,
    key: &SigningKey,
    generation: i64,
    now: Timestamp,
) -> Result<bool> {
    let times = KeyTimes::at_once(generation, now);
    if insert(
        db,
        &SigningKey {
            times,
            ..key.clone()
        },
    )
    .await?
    {
        return Ok(true);
    }
    let changed = sql::query(
        "UPDATE signing_keys SET signs_from = $3
         WHERE purpose = $1 AND generation = $2 AND signs_from > $3 AND revoked_at IS NULL",
    )
    .bind(key.purpose.as_str())
    .bind(generation)
    .bind(now.millis())
    .execute(db)
    .await?;
    Ok(changed == 1)
}
pub(crate) mod saml_keys;
pub(crate) mod sealed_values;
pub(crate) mod wrapped_keys;
