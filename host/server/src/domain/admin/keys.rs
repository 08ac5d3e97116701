//! Commands about the signing keys of ID tokens and of receipts.

use std::sync::Arc;

use tracing::Instrument;

use super::command::{AdminCommand, AdminContext, ApprovedPlan, Planned};
use super::{AdminError, Result};
use crate::domain::admin::execution::Execution;
use crate::domain::keys::signing_keys;
use crate::domain::keys::signing_keys::{RevocationOutcome, Takeover};
use crate::domain::protected_actions::ProtectedAction;
use crate::domain::{InternalError, Services};
use assent_model::administration::Permission;
use assent_model::key::{KeyStage, SigningAlgorithm, SigningKeyKind, SigningPurpose};
use assent_store::StoreError;

/// The error if a caller may not change keys.
const FORBIDDEN: &str = "you may not change keys";

assent_model::admin_command! {
    /// Publishes the next signing keys. The outcome is whether this changed a key.
    #[derive(Clone, Copy, Debug, serde::Serialize)]
    pub struct RotateSigningKeys {
        /// What the keys sign.
        protected purpose: SigningKeyKind,
        /// The algorithm of ID tokens. `None`: all algorithms.
        protected algorithm: Option<SigningAlgorithm>,
        /// Whether the keys sign as soon as the caches of applications have them.
        protected now: bool,
    }
}

impl AdminCommand for RotateSigningKeys {
    type Plan = Self;
    type Outcome = bool;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<Self>> {
        let authorization = context.caller.authorize(Permission::KeysWrite, FORBIDDEN)?;
        let Self {
            purpose,
            algorithm,
            now,
        } = *self;
        let action = match (purpose, algorithm) {
            (SigningKeyKind::IdToken, algorithm) => {
                ProtectedAction::RotateSigningKeys { algorithm, now }
            }
            (SigningKeyKind::Receipt, None | Some(SigningAlgorithm::Es256)) => {
                ProtectedAction::RotateReceiptKeys { now }
            }
            (SigningKeyKind::Receipt, Some(_)) => {
                return Err(AdminError::Invalid {
                    field: "algorithm",
                    expected: "receipts have keys for ES256 only".to_owned(),
                });
            }
        };
        Ok(Planned::protected(authorization, *self, action))
    }

    async fn execute(approved: ApprovedPlan<'_, Self>) -> Result<Execution<bool>> {
        let (plan, recorder) = approved.into_parts();
        let takeover = if plan.now {
            Takeover::Now
        } else {
            Takeover::InTime
        };
        let mut is_changed = false;
        for purpose in plan.purposes(recorder.services) {
            let (_, changed) =
                signing_keys::rotate_and_compare(recorder.services, purpose, takeover, recorder.by)
                    .await?;
            is_changed |= changed;
        }
        Ok(Execution::Done(is_changed))
    }
}

impl RotateSigningKeys {
    /// Returns the purposes whose keys rotate.
    fn purposes(&self, services: &Services) -> Vec<SigningPurpose> {
        if self.purpose == SigningKeyKind::Receipt {
            return vec![SigningPurpose::Receipt];
        }
        let algorithms = SigningAlgorithm::ALL.into_iter();
        let rotated = algorithms.filter(|own| match self.algorithm {
            Some(named) => named == *own,
            // Those that no application chose have no keys.
            None => services.key_ring.signer(*own, services.now()).is_some(),
        });
        rotated.map(SigningPurpose::IdToken).collect()
    }
}

assent_model::admin_command! {
    /// Removes a signing key from use. A key of ID tokens leaves the key set; that of receipts is marked there.
    #[derive(Clone, Debug, serde::Serialize)]
    pub struct RevokeSigningKey {
        /// The key's identifier.
        target kid: String,
    }
}

const UNKNOWN: AdminError = AdminError::NotFound("key");
const ALREADY: AdminError = AdminError::Conflict("the key is revoked already");

impl AdminCommand for RevokeSigningKey {
    type Plan = String;
    type Outcome = ();

    async fn plan(&self, context: &AdminContext) -> Result<Planned<String>> {
        let services = &context.services;
        let authorization = context.caller.authorize(Permission::KeysWrite, FORBIDDEN)?;
        signing_keys::reload(services).await?;
        let key = signing_keys::known_key(services, &self.kid).ok_or(UNKNOWN)?;
        if key.life.stage == KeyStage::Revoked {
            return Err(ALREADY);
        }
        let kid = self.kid.clone();
        let action = match key.purpose {
            SigningPurpose::IdToken(_) => ProtectedAction::RevokeSigningKey { kid: kid.clone() },
            SigningPurpose::Receipt => ProtectedAction::RevokeReceiptKey { kid: kid.clone() },
        };
        Ok(Planned::protected(authorization, kid, action))
    }

    async fn execute(approved: ApprovedPlan<'_, String>) -> Result<Execution<()>> {
        let (kid, recorder) = approved.into_parts();
        // The revocation waits for the other instances, and must continue if the caller disconnects.
        let (services, by) = (Arc::clone(recorder.services), recorder.by.clone());
        let revoking = tokio::spawn(
            async move { signing_keys::revoke(&services, &kid, &by).await }.in_current_span(),
        );
        let revoked = revoking.await.map_err(|_| {
            InternalError::from(StoreError::Internal("the revocation of a key failed"))
        })?;
        match revoked? {
            RevocationOutcome::Done { .. } => Ok(Execution::Done(())),
            RevocationOutcome::Already => Err(ALREADY),
            RevocationOutcome::Unknown => Err(UNKNOWN),
        }
    }
}
