//! Values that a sealing key sealed, for the replacement of that key. Long-lived values are sealed again; the others
//! expire.

use crate::engine::rows::{cell, parse};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::tables::applications::client_secrets;
use crate::{Result, Store};
use assent_model::clock::Timestamp;
use assent_model::id::{ClientSecretId, Did, KeyId};
use assent_model::key::KeyPurpose;

/// A long-lived sealed value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedValue {
    /// Where the value is stored.
    pub place: SealedPlace,
    /// The value.
    pub sealed: String,
}

/// Where a sealed value is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SealedPlace {
    /// The private key of a signing key.
    SigningKey(KeyId, KeyPurpose),
    /// The private key for a SAML service provider.
    SamlKey(KeyId, Did),
    /// A client secret.
    ClientSecret(ClientSecretId, Did),
}

/// Writes the kind and the id of the value.
impl std::fmt::Display for SealedPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::SigningKey(id, _) => write!(f, "signing_key:{id}"),
            Self::SamlKey(id, _) => write!(f, "saml_key:{id}"),
            Self::ClientSecret(id, _) => write!(f, "client_secret:{id}"),
        }
    }
}

/// Whether an older sealing key than that of a generation may have sealed a value that is still needed. Such a value is
/// a token, unless all tokens were revoked since the key was replaced, or the link of an email. Other values expire
/// long before a key is deleted.
const EXPIRING: &str = "SELECT 1 FROM wrapped_keys
     WHERE purpose = 'sealing' AND generation < $1 AND (needed_until IS NULL OR needed_until > $2)
       AND (SELECT MAX(epoch) FROM token_epochs) < $3
     UNION ALL SELECT 1 FROM invitation_mails WHERE sealed_link NOT LIKE $4
     LIMIT 1";

/// The prefix of all values that the sealing key of a generation sealed.
fn pattern(generation: u32) -> String {
    format!("{generation}.%")
}

impl Store {
    /// The long-lived values that another sealing key than that of `generation` sealed.
    pub async fn values_to_reseal(&self, generation: u32) -> Result<Vec<SealedValue>> {
        let mut found = self.signing_keys_to_reseal(generation).await?;
        found.extend(self.saml_keys_to_reseal(generation).await?);
        found.extend(self.client_secrets_to_reseal(generation).await?);
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

    async fn saml_keys_to_reseal(&self, generation: u32) -> Result<Vec<SealedValue>> {
        let rows: Vec<(String, String, String)> = sql::query_as(
            "SELECT id, application_id, sealed FROM saml_keys WHERE sealed NOT LIKE $1 ORDER BY id",
        )
        .bind(pattern(generation))
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

    /// Only applications that authenticate with `client_secret_jwt` have such secrets, so they are few.
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

    /// Replaces values by the resealed ones. A value that was changed since it was read stays.
    pub async fn replace_sealed(&self, resealed: Vec<(SealedValue, String)>) -> Result<()> {
        self.write(resealed, |db, resealed| {
            Box::pin(async move {
                for (value, sealed) in resealed {
                    replace(db, value, sealed).await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// Whether an older sealing key than that of `generation` may have sealed a value that expires after `now`.
    /// `replaced` is the time from which that key seals.
    pub async fn has_values_of_older_sealing_keys(
        &self,
        generation: u32,
        replaced: Timestamp,
        now: Timestamp,
    ) -> Result<bool> {
        Ok(sql::query(EXPIRING)
            .bind(generation)
            .bind(now.millis())
            .bind(replaced.seconds())
            .bind(pattern(generation))
            .exists(&self.readers)
            .await?)
    }
}

async fn replace(db: &mut Connection, value: &SealedValue, sealed: &str) -> Result<()> {
    let statement = match &value.place {
        SealedPlace::SigningKey(id, _) => {
            sql::query("UPDATE signing_keys SET sealed = $3 WHERE id = $1 AND sealed = $2")
                .bind(id.to_string())
        }
        SealedPlace::SamlKey(id, _) => {
            sql::query("UPDATE saml_keys SET sealed = $3 WHERE id = $1 AND sealed = $2")
                .bind(id.to_string())
        }
        // The other members of the JSON stay unchanged: a sealed value occurs in it once, and has no character that
        // JSON escapes. The new time of the change invalidates the caches of the instances.
        SealedPlace::ClientSecret(_, application) => sql::query(
            "UPDATE applications SET secrets = REPLACE(secrets, $2, $3), updated_at = updated_at + 1
             WHERE id = $1 AND secrets LIKE '%' || $2 || '%'",
        )
        .bind(application.to_string()),
    };
    statement
        .bind(&value.sealed)
        .bind(sealed.to_owned())
        .execute(db)
        .await?;
    Ok(())
}
