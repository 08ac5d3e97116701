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
    /// The number of keys that the change sets, without a certificate.
    fn keys(&self) -> usize {
        let keys = [
            matches!(self.jwks, Some(Some(_))),
            matches!(self.jwks_uri, Some(Some(_))),
            matches!(self.public_key, Some(Some(_))),
        ];
        keys.into_iter().filter(|is_set| *is_set).count()
    }

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
    change: &AuthenticationChange,
    egress: &Egress,
) -> Result<ClientAuthentication> {
    const FIELD: &str = "token_endpoint_auth_method";
    let method = change.method.unwrap_or_else(|| settings.auth_method());
    let certificates = usize::from(matches!(change.certificate, Some(Some(_))));
    let count = change.keys() + certificates;
    if !settings.application_type.is_confidential() {
        return match (method, certificates) {
            (ClientAuthMethod::None, 0) => Ok(settings.authentication.clone()),
            _ => Err(invalid(
                FIELD,
                "an SPA or native application has no client authentication and no certificate",
            )),
        };
    }
    let without_certificate = |authentication| match certificates {
        0 => Ok(authentication),
        _ => Err(invalid(
            FIELD,
            format!("{} takes no certificate", method.as_str()),
        )),
    };
    // The keys remain, unless the change removes them without a replacement.
    let still_held = |removed: Option<&'static str>| match removed {
        None => Ok(()),
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
            without_certificate(ClientAuthentication::ClientSecretBasic)
        }
        ClientAuthMethod::ClientSecretPost => {
            without_certificate(ClientAuthentication::ClientSecretPost)
        }
        ClientAuthMethod::ClientSecretJwt => {
            without_certificate(ClientAuthentication::ClientSecretJwt)
        }
        ClientAuthMethod::PrivateKeyJwt => match (settings.signing_keys(), count) {
            // They may have verified only its request objects before.
            (Some(keys), 0) => {
                let holders: &[&str] = match keys {
                    ClientKeys::JwksUri(_) => &["jwks_uri"],
                    ClientKeys::Jwks(_) => &["jwks", "public_key", "certificate"],
                };
                still_held(change.removed_member(holders))?;
                Ok(ClientAuthentication::PrivateKeyJwt(keys.clone()))
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
            match (&settings.authentication, &change.certificate, certificates) {
                (ClientAuthentication::TlsClientCertificate(_), None | Some(None), 0) => {
                    still_held(change.removed_member(&["certificate"]))?;
                    Ok(settings.authentication.clone())
                }
                (_, Some(Some(pem)), 1) => {
                    let certificate = client::certificate(pem)
                        .map_err(|error| invalid("certificate", error.to_string()))?;
                    Ok(ClientAuthentication::TlsClientCertificate(certificate))
                }
                _ => Err(invalid(FIELD, "tls_client_certificate takes a certificate")),
            }
        }
    }
}

/// Returns the keys of request objects after the change, of an application that does not authenticate with keys.
pub(super) fn request_keys(
    settings: &OidcSettings,
    change: &AuthenticationChange,
    egress: &Egress,
) -> Result<Option<ClientKeys>> {
    let method = change.method.unwrap_or_else(|| settings.auth_method());
    if method == ClientAuthMethod::PrivateKeyJwt {
        return Ok(None);
    }
    let removed = change.removed_member(&["jwks", "jwks_uri", "public_key"]);
    match (change.keys(), removed) {
        (0, Some(_)) => Ok(None),
        (0, None) => Ok(settings.request_keys.clone()),
        (1, _) => client_keys(change, egress).map(Some),
        _ => Err(invalid(
            "token_endpoint_auth_method",
            "expected one of jwks, jwks_uri and public_key",
        )),
    }
}

fn client_keys(change: &AuthenticationChange, egress: &Egress) -> Result<ClientKeys> {
    let (field, keys) = match (
        change.jwks.as_ref().and_then(Option::as_ref),
        change.jwks_uri.as_ref().and_then(Option::as_ref),
        change.public_key.as_ref().and_then(Option::as_ref),
        change.certificate.as_ref().and_then(Option::as_ref),
    ) {
        (Some(set), ..) => ("jwks", client::keys_of_set(set)),
        (_, Some(uri), ..) => {
            return Ok(ClientKeys::JwksUri(server_address(
                "jwks_uri", uri, egress,
            )?));
        }
        (.., Some(pem), _) => ("public_key", client::key_of_pem(pem).map(|key| vec![key])),
        (.., pem) => (
            "certificate",
            client::key_of_certificate(pem.map_or("", String::as_str)).map(|key| vec![key]),
        ),
    };
    keys.map(ClientKeys::Jwks)
        .map_err(|error| invalid(field, error.to_string()))
}
