//! The authentication methods of OpenID Connect clients.

use serde_json::Value;

use super::values::server_address;
use crate::domain::admin::{Result, invalid};
use crate::keys::client;
use assent_model::application::OidcSettings;
use assent_model::client_auth::{ClientAuthMethod, ClientAuthentication, ClientKeys};
use assent_plugin_host::egress::Egress;

/// A change of an application's authentication method, with at most one of the four kinds of key.
pub(super) struct AuthenticationChange {
    pub(super) method: Option<ClientAuthMethod>,
    pub(super) jwks: Option<Option<Value>>,
    pub(super) jwks_uri: Option<Option<String>>,
    pub(super) public_key: Option<Option<String>>,
    pub(super) certificate: Option<Option<String>>,
}

impl AuthenticationChange {
    /// Returns the first of these members that the change removes.
    fn removed_member(&self, members: &[&'static str]) -> Option<&'static str> {
        let removals = [
            ("jwks", self.jwks == Some(None)),
            ("jwks_uri", self.jwks_uri == Some(None)),
            ("public_key", self.public_key == Some(None)),
            ("certificate", self.certificate == Some(None)),
        ];
        removals
            .into_iter()
            .find(|(member, is_removed)| *is_removed && members.contains(member))
            .map(|(member, _)| member)
    }
}

/// Returns the authentication of the application after the change.
pub(super) fn authentication(
    settings: &OidcSettings,
    change: AuthenticationChange,
    egress: &Egress,
) -> Result<ClientAuthentication> {
    const FIELD: &str = "token_endpoint_auth_method";
    let method = change.method.unwrap_or_else(|| settings.auth_method());
    let keys = [
        matches!(change.jwks, Some(Some(_))),
        matches!(change.jwks_uri, Some(Some(_))),
        matches!(change.public_key, Some(Some(_))),
        matches!(change.certificate, Some(Some(_))),
    ];
    let count = keys.into_iter().filter(|is_set| *is_set).count();
    if !settings.application_type.is_confidential() {
        return match (method, count) {
            (ClientAuthMethod::None, 0) => Ok(settings.authentication.clone()),
            _ => Err(invalid(
                FIELD,
                "an SPA or native application has no client authentication and no keys",
            )),
        };
    }
    let without_keys = |authentication| match count {
        0 => Ok(authentication),
        _ => Err(invalid(
            FIELD,
            format!("{} takes no keys or certificates", method.as_str()),
        )),
    };
    // Keeps the keys, unless the change removes them without a replacement.
    let kept = |holders: &[&'static str]| match change.removed_member(holders) {
        None => Ok(settings.authentication.clone()),
        Some(member) => Err(invalid(
            member,
            format!(
                "{} needs it; send another key, or another token_endpoint_auth_method",
                method.as_str()
            ),
        )),
    };
    match method {
        ClientAuthMethod::None => Err(invalid(FIELD, "a web application must authenticate")),
        ClientAuthMethod::ClientSecretBasic => {
            without_keys(ClientAuthentication::ClientSecretBasic)
        }
        ClientAuthMethod::ClientSecretPost => without_keys(ClientAuthentication::ClientSecretPost),
        ClientAuthMethod::ClientSecretJwt => without_keys(ClientAuthentication::ClientSecretJwt),
        ClientAuthMethod::PrivateKeyJwt => match (&settings.authentication, count) {
            (ClientAuthentication::PrivateKeyJwt(ClientKeys::JwksUri(_)), 0) => kept(&["jwks_uri"]),
            (ClientAuthentication::PrivateKeyJwt(ClientKeys::Jwks(_)), 0) => {
                kept(&["jwks", "public_key", "certificate"])
            }
            (_, 1) => Ok(ClientAuthentication::PrivateKeyJwt(client_keys(
                change, egress,
            )?)),
            _ => Err(invalid(
                FIELD,
                "private_key_jwt takes one of jwks, jwks_uri, public_key and certificate",
            )),
        },
        ClientAuthMethod::TlsClientCertificate => {
            match (&settings.authentication, &change.certificate, count) {
                (ClientAuthentication::TlsClientCertificate(_), None | Some(None), 0) => {
                    kept(&["certificate"])
                }
                (_, Some(Some(pem)), 1) => {
                    let certificate = client::certificate(pem)
                        .map_err(|error| invalid("certificate", error.to_string()))?;
                    Ok(ClientAuthentication::TlsClientCertificate(certificate))
                }
                _ => Err(invalid(
                    FIELD,
                    "tls_client_certificate takes a certificate, and nothing else",
                )),
            }
        }
    }
}

fn client_keys(change: AuthenticationChange, egress: &Egress) -> Result<ClientKeys> {
    let (field, keys) = match (
        change.jwks.flatten(),
        change.jwks_uri.flatten(),
        change.public_key.flatten(),
        change.certificate.flatten(),
    ) {
        (Some(set), ..) => ("jwks", client::keys_of_set(&set)),
        (_, Some(uri), ..) => {
            return Ok(ClientKeys::JwksUri(server_address(
                "jwks_uri", &uri, egress,
            )?));
        }
        (.., Some(pem), _) => ("public_key", client::key_of_pem(&pem).map(|key| vec![key])),
        (.., pem) => (
            "certificate",
            client::key_of_certificate(&pem.unwrap_or_default()).map(|key| vec![key]),
        ),
    };
    keys.map(ClientKeys::Jwks)
        .map_err(|error| invalid(field, error.to_string()))
}
