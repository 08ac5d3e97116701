//! SAML service providers: applications with the protocol SAML 2.0, and their exchanges with this server.

mod key;
mod logout;
mod name_id;
mod service_provider;
mod settings;
mod sign_on;

pub use key::{RETIRED, SamlKey, SamlKeyStage, stages};
pub use logout::{
    Logout, LogoutAnswer, LogoutContinuation, LogoutOutcome, LogoutTurn, Participation,
    SessionBrowser, SessionEnd,
};
pub use name_id::{NameId, NameIdFormat, NameIdSettings, NameIdSource};
pub use service_provider::ServiceProvider;
pub use settings::{
    AssertionConsumer, Binding, CustomAttribute, IdpInitiated, PartnerCertificate, RelayStateError,
    SamlSettings, SingleLogout,
};
pub use sign_on::{MessageClaim, PasskeyContext, PendingSignOn, RequestedSubject, SignOnRequest};
