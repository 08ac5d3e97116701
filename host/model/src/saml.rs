//! SAML service providers: applications whose protocol is SAML 2.0, and what passes between them and this host.

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
    /// The `{applicationId}` in its paths.
    pub id: Did,
    /// The name that users see.
    pub name: String,
    /// What an administrator may set.
    pub settings: SamlSettings,
    /// How often it was changed: a change counts only if it was made to the newest version.
    pub version: i64,
    /// When the application was made.
    pub created_at: Timestamp,
    /// When the application was last changed.
    pub updated_at: Timestamp,
}
