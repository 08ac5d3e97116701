//! Client secrets. An application may have two at the same time, so that a rotation causes no outage.

use crate::clock::Timestamp;
use crate::id::ClientSecretId;
use crate::secret::{Digest, Secret};

/// The maximum number of client secrets of an application.
pub const MOST_CLIENT_SECRETS: usize = 2;

/// A client secret as stored in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientSecret {
    /// The identifier, which is not secret.
    pub id: ClientSecretId,
    /// The digest of the secret.
    pub digest: Digest,
    /// The sealed secret. Only for `client_secret_jwt`, which needs the secret itself.
    pub sealed: Option<String>,
    /// The creation time.
    pub created_at: Timestamp,
}

/// The application already has [`MOST_CLIENT_SECRETS`] secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it has two client secrets already")]
pub struct TooManySecrets;

/// The client secrets of an application, the oldest first. All of them are valid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientSecrets(Vec<ClientSecret>);

impl ClientSecrets {
    /// Returns a list of these secrets.
    ///
    /// # Errors
    /// [`TooManySecrets`] for more than [`MOST_CLIENT_SECRETS`].
    pub fn new(secrets: Vec<ClientSecret>) -> Result<Self, TooManySecrets> {
        if secrets.len() > MOST_CLIENT_SECRETS {
            return Err(TooManySecrets);
        }
        Ok(Self(secrets))
    }

    /// Returns a list with only this secret.
    pub fn only(secret: ClientSecret) -> Self {
        Self(vec![secret])
    }

    /// Whether there are no secrets.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns all secrets, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &ClientSecret> {
        self.0.iter()
    }

    /// Whether another secret may be added.
    pub const fn may_have_another(&self) -> bool {
        self.0.len() < MOST_CLIENT_SECRETS
    }

    /// Adds a secret.
    ///
    /// # Errors
    /// [`TooManySecrets`] if the list is full.
    pub fn add(&mut self, secret: ClientSecret) -> Result<(), TooManySecrets> {
        if !self.may_have_another() {
            return Err(TooManySecrets);
        }
        self.0.push(secret);
        Ok(())
    }

    /// Removes a secret. Returns whether it existed.
    pub fn remove(&mut self, id: ClientSecretId) -> bool {
        let before = self.0.len();
        self.0.retain(|secret| secret.id != id);
        self.0.len() < before
    }

    /// Removes the sealed secrets. The digests stay.
    pub fn forget_sealed(&mut self) {
        for secret in &mut self.0 {
            secret.sealed = None;
        }
    }

    /// Whether the list still contains each of the other secrets.
    pub fn have_all_of(&self, others: &Self) -> bool {
        others.0.iter().all(|secret| self.0.contains(secret))
    }

    /// Returns the id of the presented secret. Each comparison takes constant time, and all secrets are compared, so
    /// the time does not depend on the match.
    pub fn find(&self, presented: &Secret) -> Option<ClientSecretId> {
        let digest = presented.digest();
        self.0.iter().fold(None, |found, known| {
            let fits = known.digest == digest;
            if fits { Some(known.id) } else { found }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::SystemEntropy;

    fn secret(text: &str) -> ClientSecret {
        let now = Timestamp::from_millis(1_000);
        ClientSecret {
            id: ClientSecretId::new(now, &SystemEntropy),
            digest: Secret::new(text).digest(),
            sealed: Some("sealed".to_owned()),
            created_at: now,
        }
    }

    #[test]
    fn two_secrets_are_valid_until_one_is_removed_and_a_third_is_rejected() {
        let (first, second) = (secret("first"), secret("second"));
        let mut secrets = ClientSecrets::only(first.clone());
        assert_eq!(secrets.add(second.clone()), Ok(()));
        assert_eq!(secrets.add(secret("third")), Err(TooManySecrets));
        let find = |secrets: &ClientSecrets, text: &str| secrets.find(&Secret::new(text));
        assert_eq!(find(&secrets, "first"), Some(first.id));
        assert_eq!(find(&secrets, "second"), Some(second.id));
        assert_eq!(find(&secrets, "third"), None);
        let before = secrets.clone();
        assert!(secrets.remove(first.id) && !secrets.remove(first.id));
        assert_eq!(find(&secrets, "first"), None);
        assert_eq!(find(&secrets, "second"), Some(second.id));
        assert!(before.have_all_of(&secrets) && !secrets.have_all_of(&before));
        assert!(ClientSecrets::new(vec![first, second, secret("third")]).is_err());
    }

    #[test]
    fn sealed_values_are_removed_and_digests_stay() {
        let mut secrets = ClientSecrets::only(secret("first"));
        secrets.forget_sealed();
        assert!(secrets.iter().all(|secret| secret.sealed.is_none()));
        assert!(secrets.find(&Secret::new("first")).is_some());
    }
}
