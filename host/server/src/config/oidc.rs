//! The settings of OpenID Connect.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::config::HumanDuration;
use crate::config::backchannel;
use crate::config::backchannel::Backchannel;
use crate::config::device_authorization;
use crate::config::device_authorization::DeviceAuthorization;

/// OpenID Connect.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Oidc {
    /// Requires each application to push its authorization requests (RFC 9126). `false` leaves that to the setting of
    /// the application.
    pub require_pushed_authorization_requests: bool,
    /// Requires a nonce of the server in each DPoP proof (RFC 9449 section 8). Then the clocks of clients do not
    /// matter, and each client needs a second request about once in five minutes.
    pub dpop_nonces: bool,
    /// Dynamic client registration: applications that register themselves.
    pub registration: Registration,
    /// Back-channel authentication: applications that ask for a user without a browser.
    pub backchannel: Backchannel,
    /// Device authorization: sign-in on a device without a browser, by a code.
    pub device_authorization: DeviceAuthorization,
}

/// Dynamic client registration (RFC 7591, RFC 7592): applications that register themselves, with an initial access
/// token that an administrator creates.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Registration {
    /// Lets applications register themselves. `false` also ends the updates of applications that registered before.
    pub enabled: bool,
    /// Disables each new application, until an administrator enables it.
    pub approval_required: bool,
    /// After this time the server deletes an application that registered itself, if no user has signed in to it, and it
    /// has no account and has not authenticated.
    pub unused_expiry: HumanDuration,
    /// The issuers of software statements (RFC 7591 section 2.3), with their keys. Without one, a registration with a
    /// software statement is rejected.
    pub software_statement_keys: Vec<SoftwareStatementKeys>,
}

/// An issuer of software statements, with the URL or the file of its keys.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SoftwareStatementKeys {
    /// The `iss` of the statements.
    pub issuer: String,
    /// The URL of the issuer's JSON Web Key Set.
    #[serde(default)]
    pub jwks_uri: Option<Url>,
    /// In place of `jwks_uri`: a file with the key set. The server reads it for each statement.
    #[serde(default)]
    pub jwks_file: Option<PathBuf>,
}

impl Default for Registration {
    fn default() -> Self {
        Self {
            enabled: false,
            approval_required: false,
            unused_expiry: HumanDuration::days(30),
            software_statement_keys: Vec::new(),
        }
    }
}

/// Checks the rules that the types cannot express.
pub(super) fn check(oidc: &Oidc, expect: &mut impl FnMut(bool, &str, &str)) {
    backchannel::check(&oidc.backchannel, expect);
    device_authorization::check(&oidc.device_authorization, expect);
    let registration = &oidc.registration;
    registration.unused_expiry.check(
        "oidc.registration.unused_expiry",
        HumanDuration::days(1)..=HumanDuration::days(400),
        expect,
    );
    for keys in &registration.software_statement_keys {
        expect(
            keys.jwks_uri.is_some() != keys.jwks_file.is_some(),
            "oidc.registration.software_statement_keys",
            "expected one of jwks_uri and jwks_file for each issuer",
        );
    }
}
