//! SAML service providers: applications with the protocol SAML 2.0, and their exchanges with this server.

mod key;
mod logout;
mod name_id;
mod settings;
mod sign_on;

use crate::clock::Timestamp;
use crate::id::Did;

pub use key::{RETIRED, SamlKey, SamlKeyStage, stages};
pub use logout::{
    Logout, LogoutAnswer, LogoutContinuation, LogoutOutcome, LogoutTurn, Participation,
    SessionBrowser, SessionEnd,
};
pub use name_id::{NameId, NameIdFormat, NameIdSettings, NameIdSource};
pub use settings::{
    AssertionConsumer, Binding, CustomAttribute, IdpInitiated, PartnerCertificate, RelayStateError,
    SamlSettings, SingleLogout,
};
pub use sign_on::{MessageClaim, PasskeyContext, PendingSignOn, RequestedSubject, SignOnRequest};

/// A SAML service provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceProvider {
    /// The `{applicationId}` in the application's paths.
    pub id: Did,
    /// The name that users see.
    pub name: String,
    /// The settings that an administrator can change.
    pub settings: SamlSettings,
    /// The number of changes, for optimistic concurrency: an update succeeds only on the newest version.
    pub version: i64,
    /// The creation time.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub updated_at: Timestamp,
}
