//! Client secrets: an application may have two at the same moment, so that one replaces the other without an outage.

use crate::clock::Timestamp;
use crate::id::ClientSecretId;
use crate::secret::{Digest, Secret};

/// How many client secrets an application may have at the same moment.
pub const MOST_CLIENT_SECRETS: usize = 2;

/// A client secret, as the database has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientSecret {
    /// Its identifier, which is no secret.
    pub id: ClientSecretId,
    /// The digest of the secret.
    pub digest: Digest,
    /// The secret itself, sealed: only for `client_secret_jwt`, for which a digest is not enough.
    pub sealed: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
}

/// The application has [`MOST_CLIENT_SECRETS`] already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it has two client secrets already")]
pub struct TooManySecrets;

/// The client secrets of an application, the oldest first. Each of them is valid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientSecrets(Vec<ClientSecret>);

impl ClientSecrets {
    /// These secrets, as long as they are not too many.
    ///
    /// # Errors
    /// [`TooManySecrets`] for more than [`MOST_CLIENT_SECRETS`].
    pub fn new(secrets: Vec<ClientSecret>) -> Result<Self, TooManySecrets> {
        if secrets.len() > MOST_CLIENT_SECRETS {
            return Err(TooManySecrets);
        }
        Ok(Self(secrets))
    }

    /// One secret, in place of all others.
    pub fn only(secret: ClientSecret) -> Self {
        Self(vec![secret])
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &ClientSecret> {
        self.0.iter()
    }

    /// Whether there is place for another one.
    pub const fn may_have_another(&self) -> bool {
        self.0.len() < MOST_CLIENT_SECRETS
    }

    /// Adds a secret.
    ///
    /// # Errors
    /// [`TooManySecrets`] if there is no place for it.
    pub fn add(&mut self, secret: ClientSecret) -> Result<(), TooManySecrets> {
        if !self.may_have_another() {
            return Err(TooManySecrets);
        }
        self.0.push(secret);
        Ok(())
    }

    /// Removes a secret. Whether it was there.
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

    /// Whether each of the other secrets is still here.
    pub fn have_all_of(&self, others: &Self) -> bool {
        others.0.iter().all(|secret| self.0.contains(secret))
    }

    /// Which of them the presented secret is. It is compared with each in constant time, so the time does not depend
    /// on which one fits.
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
    fn sealed_secrets_are_forgotten_and_digests_stay() {
        let mut secrets = ClientSecrets::only(secret("first"));
        secrets.forget_sealed();
        assert!(secrets.iter().all(|secret| secret.sealed.is_none()));
        assert!(secrets.find(&Secret::new("first")).is_some());
    }
}
