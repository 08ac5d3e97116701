//! The stored form of an application's client secrets.

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::engine::rows::{Cell, digest, from_json, to_json};
use assent_model::client_secret::{ClientSecret, ClientSecrets};
use assent_model::clock::Timestamp;
use assent_model::id::ClientSecretId;

/// A client secret as the column holds it.
#[derive(Deserialize, Serialize)]
struct StoredSecret {
    id: ClientSecretId,
    digest: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sealed: Option<String>,
    created_at: Timestamp,
}

pub(super) fn to_column(secrets: &ClientSecrets) -> Result<String> {
    let stored: Vec<StoredSecret> = secrets
        .iter()
        .map(|secret| StoredSecret {
            id: secret.id,
            digest: secret.digest.to_text(),
            sealed: secret.sealed.clone(),
            created_at: secret.created_at,
        })
        .collect();
    to_json(&stored)
}

pub(crate) fn from_column(text: &str, cell: Cell<'_>) -> Result<ClientSecrets> {
    let stored: Vec<StoredSecret> = from_json(text, cell)?;
    let secrets = stored.into_iter().map(|secret| {
        Ok(ClientSecret {
            id: secret.id,
            digest: digest(&secret.digest, cell)?,
            sealed: secret.sealed,
            created_at: secret.created_at,
        })
    });
    ClientSecrets::new(secrets.collect::<Result<_>>()?).map_err(|_| cell.unexpected())
}
