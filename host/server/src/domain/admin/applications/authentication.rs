//! The authentication methods of OpenID Connect clients.

use serde_json::Value;

use super::values::server_address;
use crate::domain::admin::{Result, invalid};
use crate::keys::client;
use assent_model::application::OidcSettings;
use assent_model::certificate_name::{CertificateName, CertificateNameKind};
use assent_model::client_auth::{
    CertificateIdentity, ClientAuthMethod, ClientAuthentication, ClientKeys,
};
use assent_plugin_host::egress::Egress;

/// A change of an application's authentication method, with at most one of the four kinds of key, or a name in
/// certificates.
pub(super) struct AuthenticationChange {
    pub(super) method: Option<ClientAuthMethod>,
    pub(super) jwks: Option<Option<Value>>,
    pub(super) jwks_uri: Option<Option<String>>,
    pub(super) public_key: Option<Option<String>>,
    pub(super) certificate: Option<Option<String>>,
    /// The names in certificates of authorities.
    pub(super) names: [(CertificateNameKind, Option<Option<String>>); 5],
    /// Whether the server has authorities for client certificates.
    pub(super) has_authorities: bool,
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
        let names = self.names.iter();
        let removed_names = names.map(|(kind, name)| (kind.member(), *name == Some(None)));
        removals
            .into_iter()
            .chain(removed_names)
            .find(|(member, is_removed)| *is_removed && members.contains(member))
            .map(|(member, _)| member)
    }

    /// Returns the names that the change sets.
    fn set_names(&self) -> Vec<(CertificateNameKind, &str)> {
        let names = self.names.iter();
        names
            .filter_map(|(kind, name)| Some((*kind, name.as_ref()?.as_deref()?)))
            .collect()
    }

    /// Returns what identifies the application's certificate after the change, if the change sets it.
    fn identity(&self) -> Result<Option<CertificateIdentity>> {
        let names = self.set_names();
        match (&self.certificate, names.as_slice()) {
            (Some(Some(pem)), []) => client::registered_certificates(pem)
                .map(|registered| Some(CertificateIdentity::Registered(registered)))
                .map_err(|error| invalid("certificate", error.to_string())),
            (None | Some(None), [(kind, text)]) => {
                let member = kind.member();
                if !self.has_authorities {
                    return Err(invalid(
                        member,
                        "this server has no authorities for client certificates: expected the setting \
                         http.mtls.authorities_file",
                    ));
                }
                CertificateName::parse(*kind, text)
                    .map(|name| Some(CertificateIdentity::Named(name)))
                    .map_err(|error| invalid(member, error.to_string()))
            }
            (None | Some(None), []) => Ok(None),
            _ => Err(invalid("token_endpoint_auth_method", ONE_IDENTITY)),
        }
    }
}

const ONE_IDENTITY: &str = "tls_client_certificate takes a certificate, or one of tls_client_auth_subject_dn, \
                            tls_client_auth_san_dns, tls_client_auth_san_uri, tls_client_auth_san_ip and \
                            tls_client_auth_san_email";

/// Returns the authentication of the application after the change.
pub(super) fn authentication(
    settings: &OidcSettings,
    change: &AuthenticationChange,
    egress: &Egress,
) -> Result<ClientAuthentication> {
    const FIELD: &str = "token_endpoint_auth_method";
    let method = change.method.unwrap_or_else(|| settings.auth_method());
    let names = change.set_names().len();
    let certificates = names + usize::from(matches!(change.certificate, Some(Some(_))));
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
            (_, 1) if names == 0 => Ok(ClientAuthentication::PrivateKeyJwt(client_keys(
                change, egress,
            )?)),
            _ => Err(invalid(
                FIELD,
                "private_key_jwt takes one of jwks, jwks_uri, public_key and certificate",
            )),
        },
        ClientAuthMethod::TlsClientCertificate => {
            match (&settings.authentication, change.identity()?) {
                (_, Some(identity)) => Ok(ClientAuthentication::TlsClientCertificate(identity)),
                (ClientAuthentication::TlsClientCertificate(known), None) => {
                    let holder = match known {
                        CertificateIdentity::Registered(_) => "certificate",
                        CertificateIdentity::Named(name) => name.kind().member(),
                    };
                    still_held(change.removed_member(&[holder]))?;
                    Ok(settings.authentication.clone())
                }
                _ => Err(invalid(FIELD, ONE_IDENTITY)),
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
