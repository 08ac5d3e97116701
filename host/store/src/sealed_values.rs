//! Values that a sealing key has sealed, for its replacement by another. Those that are needed for long are sealed
//! again; the others expire.

use crate::applications::client_secrets;
use crate::rows::{cell, parse};
use crate::sql::{self, Connection};
use crate::{Result, Store};
use assent_model::clock::Timestamp;
use assent_model::id::{ClientSecretId, Did, KeyId};
use assent_model::key::KeyPurpose;

/// A sealed value that is needed for long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedValue {
    /// Where it is.
    pub place: SealedPlace,
    /// The value.
    pub sealed: String,
}

/// Where a sealed value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SealedPlace {
    /// The private key of a signing key.
    SigningKey(KeyId, KeyPurpose),
    /// The private key for a SAML service provider.
    SamlKey(KeyId, Did),
    /// A client secret.
    ClientSecret(ClientSecretId, Did),
}

/// Nothing is older than values that name no sealing key.
const OLDEST: u32 = 0;

/// The values that expire.
const SHORT_LIVED: &str = "SELECT 1 FROM approval_deliveries WHERE handle NOT LIKE $1
     UNION ALL SELECT 1 FROM idempotent_requests WHERE response NOT LIKE $1
     UNION ALL SELECT 1 FROM invitation_mails WHERE sealed_link NOT LIKE $1
     UNION ALL SELECT 1 FROM test_sign_ins WHERE result NOT LIKE $1
     UNION ALL SELECT 1 FROM test_sign_in_steps WHERE step NOT LIKE $1
     LIMIT 1";

/// A token family that may have a token which was issued before `$2` and is valid at `$1`.
const UNEXPIRED_FAMILY: &str = "SELECT 1 FROM token_families
     WHERE retain_until > $1 AND COALESCE(refreshed_at, exchanged_at, created_at) < $2 LIMIT 1";

/// The beginning of all values that the sealing key of a generation sealed.
fn pattern(generation: u32) -> String {
    format!("{generation}.%")
}

impl Store {
    /// At most so many values that are needed for long and that another sealing key than that of `generation` sealed.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn values_to_reseal(&self, generation: u32, most: usize) -> Result<Vec<SealedValue>> {
        if generation == OLDEST {
            return Ok(Vec::new());
        }
        let mut found = self.signing_keys_to_reseal(generation).await?;
        found.extend(self.saml_keys_to_reseal(generation, most).await?);
        found.extend(self.client_secrets_to_reseal(generation).await?);
        found.truncate(most);
        Ok(found)
    }

    async fn signing_keys_to_reseal(&self, generation: u32) -> Result<Vec<SealedValue>> {
        let rows: Vec<(String, String, String)> =
            sql::query_as("SELECT id, purpose, sealed FROM signing_keys WHERE sealed NOT LIKE $1")
                .bind(pattern(generation))
                .fetch_all(&self.readers)
                .await?;
        let read = |(id, purpose, sealed): (String, String, String)| {
            let purpose = parse(&purpose, cell("signing_keys", "purpose", &id))?;
            let place =
                SealedPlace::SigningKey(parse(&id, cell("signing_keys", "id", &id))?, purpose);
            Ok(SealedValue { place, sealed })
        };
        rows.into_iter().map(read).collect()
    }

    async fn saml_keys_to_reseal(&self, generation: u32, most: usize) -> Result<Vec<SealedValue>> {
        let rows: Vec<(String, String, String)> = sql::query_as(
            "SELECT id, application_id, sealed FROM saml_keys WHERE sealed NOT LIKE $1 ORDER BY id LIMIT $2",
        )
        .bind(pattern(generation))
        .bind(i64::try_from(most).unwrap_or(i64::MAX))
        .fetch_all(&self.readers)
        .await?;
        let read = |(id, application, sealed): (String, String, String)| {
            let application = parse(&application, cell("saml_keys", "application_id", &id))?;
            let place =
                SealedPlace::SamlKey(parse(&id, cell("saml_keys", "id", &id))?, application);
            Ok(SealedValue { place, sealed })
        };
        rows.into_iter().map(read).collect()
    }

    /// Few applications have such secrets: those that authenticate with `client_secret_jwt`.
    async fn client_secrets_to_reseal(&self, generation: u32) -> Result<Vec<SealedValue>> {
        let rows: Vec<(String, String)> = sql::query_as(
            "SELECT id, secrets FROM applications WHERE secrets LIKE '%\"sealed\":%' ORDER BY id",
        )
        .fetch_all(&self.readers)
        .await?;
        let prefix = format!("{generation}.");
        let mut found = Vec::new();
        for (id, secrets) in rows {
            let application: Did = parse(&id, cell("applications", "id", &id))?;
            let secrets =
                client_secrets::from_column(&secrets, cell("applications", "secrets", &id))?;
            for secret in secrets.iter() {
                if let Some(sealed) = secret
                    .sealed
                    .clone()
                    .filter(|sealed| !sealed.starts_with(&prefix))
                {
                    let place = SealedPlace::ClientSecret(secret.id, application.clone());
                    found.push(SealedValue { place, sealed });
                }
            }
        }
        Ok(found)
    }

    /// Puts values that were sealed again in place of those that were read. One that was changed since stays.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn replace_sealed(&self, resealed: Vec<(SealedValue, String)>) -> Result<()> {
        self.write(move |db| {
            let resealed = resealed.clone();
            Box::pin(async move {
                for (value, sealed) in resealed {
                    replace(db, &value, sealed).await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// Whether a value that another sealing key than that of `generation` sealed may still be needed. `replaced` is the
    /// time from which that key seals.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn needs_older_sealing_key(
        &self,
        generation: u32,
        replaced: Timestamp,
        now: Timestamp,
    ) -> Result<bool> {
        if generation == OLDEST {
            return Ok(false);
        }
        let short_lived: Option<(i64,)> = sql::query_as(SHORT_LIVED)
            .bind(pattern(generation))
            .fetch_optional(&self.readers)
            .await?;
        if short_lived.is_some() || !self.values_to_reseal(generation, 1).await?.is_empty() {
            return Ok(true);
        }
        let token: Option<(i64,)> = sql::query_as(UNEXPIRED_FAMILY)
            .bind(now.millis())
            .bind(replaced.millis())
            .fetch_optional(&self.readers)
            .await?;
        Ok(token.is_some())
    }
}

async fn replace(db: &mut Connection, value: &SealedValue, sealed: String) -> Result<()> {
    let statement = match &value.place {
        SealedPlace::SigningKey(id, _) => {
            sql::query("UPDATE signing_keys SET sealed = $3 WHERE id = $1 AND sealed = $2")
                .bind(id.to_string())
        }
        SealedPlace::SamlKey(id, _) => {
            sql::query("UPDATE saml_keys SET sealed = $3 WHERE id = $1 AND sealed = $2")
                .bind(id.to_string())
        }
        // The other members of the JSON stay as they are: a sealed value is found in it once, and has no character
        // that JSON escapes. The caches of the instances take notice of the time of the change.
        SealedPlace::ClientSecret(_, application) => sql::query(
            "UPDATE applications SET secrets = REPLACE(secrets, $2, $3), updated_at = updated_at + 1
             WHERE id = $1 AND secrets LIKE '%' || $2 || '%'",
        )
        .bind(application.to_string()),
    };
    statement
        .bind(value.sealed.clone())
        .bind(sealed)
        .execute(db)
        .await?;
    Ok(())
}
