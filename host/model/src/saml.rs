//! SAML service providers: applications with the protocol SAML 2.0, and their exchanges with this server.

mod key;
mod logout;
mod name_id;
mod settings;
mod sign_on;

pub use key::{RETIRED, SamlKey, SamlKeyStage, stages};
pub use logout::{
    Logout, LogoutAnswer, LogoutContinuation, LogoutOutcome, LogoutTurn, Participation,
    SessionBrowser, SessionEnd,
};
pub use name_id::{NameId, NameIdFormat, NameIdSettings, NameIdSource};
pub use settings::{
    AssertionConsumer, Binding, CustomAttribute, IdpInitiated, PartnerCertificate, RelayStateError,
    SamlSettings, ServiceProvider, SingleLogout,
};
pub use sign_on::{
    MessageAnswer, MessageClaim, PasskeyContext, PendingSignOn, RequestedSubject, SignOnRequest,
};
