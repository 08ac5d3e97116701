//! The rules of the security profiles for the settings of an OpenID Connect client.

use serde_json::{Value, json};

use super::security_profile::SecurityProfile;
use super::{OidcSettings, SenderConstraint};
use crate::backchannel_delivery::DeliveryMode;
use crate::client_algorithm::ClientAlgorithm;
use crate::client_auth::ClientAuthMethod;
use crate::key::SigningAlgorithm;
use crate::redirect::RedirectUri;

/// A setting that a profile does not permit.
#[derive(Clone, Debug, PartialEq)]
pub struct UnmetRule {
    /// The member of the application.
    pub member: &'static str,
    /// Its permitted values; the first is the usual one.
    pub expected: Vec<Value>,
    /// The rule, with its section.
    pub rule: &'static str,
    /// Whether an administrator can set the first value. Others need keys or addresses, which only the operator of the
    /// application has.
    pub is_settable: bool,
    /// The reason why the rule cannot be fulfilled on this server as it is configured.
    pub obstacle: Option<&'static str>,
}

/// The obstacle, and the error of a setting, on a server that receives no client certificates: each token request of
/// the application would fail.
pub const NO_CERTIFICATES: &str = "this server receives no client certificates: expected the settings http.mtls, or \
                                   http.client_cert_header behind a proxy";

impl SecurityProfile {
    /// Returns the settings that this profile does not permit on a server that receives client certificates, or on one
    /// that does not.
    pub fn unmet_rules(
        self,
        settings: &OidcSettings,
        receives_certificates: bool,
    ) -> Vec<UnmetRule> {
        let mut unmet = self.unmet_authentication(settings, receives_certificates);
        unmet.extend(self.unmet_requests(settings));
        unmet.extend(self.unmet_delivery(settings));
        unmet.extend(self.unmet_signatures(settings));
        unmet
    }

    const fn is_fapi_2(self) -> bool {
        matches!(self, Self::Fapi2 | Self::Fapi2MessageSigning)
    }

    /// The rules for the authentication of the application, and for its tokens.
    fn unmet_authentication(
        self,
        settings: &OidcSettings,
        receives_certificates: bool,
    ) -> Vec<UnmetRule> {
        let mut unmet = Vec::new();
        if !settings.application_type.is_confidential() {
            unmet.push(UnmetRule {
                member: "application_type",
                expected: vec![json!("web")],
                rule: "only confidential clients: FAPI 2.0 Security Profile section 5.3.2.1",
                is_settable: false,
                obstacle: None,
            });
        }
        let methods = [
            ClientAuthMethod::PrivateKeyJwt,
            ClientAuthMethod::TlsClientCertificate,
        ];
        if !methods.contains(&settings.auth_method()) {
            unmet.push(UnmetRule {
                member: "token_endpoint_auth_method",
                expected: methods.map(|method| json!(method)).to_vec(),
                rule: "authentication by key or certificate: FAPI 2.0 Security Profile section 5.3.2.1",
                is_settable: false,
                obstacle: None,
            });
        }
        if self.is_fapi_2() && settings.lenient_assertion_audience {
            unmet.push(UnmetRule {
                member: "lenient_assertion_audience",
                expected: vec![json!(false)],
                rule: "the issuer as the audience of assertions: FAPI 2.0 Security Profile section 5.3.2.1",
                is_settable: true,
                obstacle: None,
            });
        }
        match settings.sender_constraint {
            SenderConstraint::Certificate if self.is_fapi_2() || receives_certificates => {}
            SenderConstraint::DpopKey if self.is_fapi_2() => {}
            SenderConstraint::Optional if self.is_fapi_2() => unmet.push(UnmetRule {
                // One of the two members binds the tokens. DPoP needs no certificate.
                member: "dpop_bound_access_tokens",
                expected: vec![json!(true)],
                rule: "access tokens that are bound to a key, by this member or by \
                       tls_client_certificate_bound_access_tokens: FAPI 2.0 Security Profile section 5.3.2.1",
                is_settable: true,
                obstacle: None,
            }),
            constraint => unmet.push(UnmetRule {
                member: "tls_client_certificate_bound_access_tokens",
                expected: vec![json!(true)],
                rule: "access tokens that are bound to a certificate: FAPI 1.0 Advanced section 5.2.2",
                is_settable: receives_certificates && constraint == SenderConstraint::Optional,
                obstacle: (!receives_certificates).then_some(NO_CERTIFICATES),
            }),
        }
        unmet
    }

    /// The rule for the results of back-channel requests.
    fn unmet_delivery(self, settings: &OidcSettings) -> Option<UnmetRule> {
        let is_pushed = settings.backchannel_delivery.mode() == DeliveryMode::Push;
        (self == Self::FapiCiba && is_pushed).then(|| UnmetRule {
            member: "backchannel_token_delivery_mode",
            expected: [DeliveryMode::Poll, DeliveryMode::Ping]
                .map(|mode| json!(mode))
                .to_vec(),
            rule: "no tokens that the server sends to the application: FAPI-CIBA section 5.2.2",
            is_settable: true,
            obstacle: None,
        })
    }

    /// The rules for authorization requests.
    fn unmet_requests(self, settings: &OidcSettings) -> Vec<UnmetRule> {
        let mut unmet = Vec::new();
        if !self.is_fapi_2() {
            // Each back-channel request must be signed, whether or not the application fixes an algorithm.
            if settings.signing_keys().is_none() {
                unmet.push(UnmetRule {
                    member: "jwks_uri",
                    expected: vec![json!("https://")],
                    rule: "keys, by this member or by jwks, that verify the signed requests: FAPI-CIBA section 5.2.2",
                    is_settable: false,
                    obstacle: None,
                });
            }
            return unmet;
        }
        let mut require = |is_met: bool, member, rule, is_settable| {
            if !is_met {
                unmet.push(UnmetRule {
                    member,
                    expected: vec![json!(true)],
                    rule,
                    is_settable,
                    obstacle: None,
                });
            }
        };
        require(
            settings.require_pushed_authorization_requests,
            "require_pushed_authorization_requests",
            "only pushed requests: FAPI 2.0 Security Profile section 5.3.2.2",
            true,
        );
        require(
            settings.require_pkce,
            "require_pkce",
            "PKCE with S256: FAPI 2.0 Security Profile section 5.3.2.2",
            true,
        );
        if self == Self::Fapi2MessageSigning {
            require(
                settings.require_signed_request_object,
                "require_signed_request_object",
                "only signed requests: FAPI 2.0 Message Signing section 5.3.1",
                settings.signing_keys().is_some(),
            );
        }
        let is_loopback = |host: String| ["localhost", "127.0.0.1", "[::1]"].contains(&&*host);
        let is_secure = |uri: &RedirectUri| {
            uri.as_str().starts_with("https://") || uri.host().is_some_and(is_loopback)
        };
        if !settings.redirect_uris.iter().all(is_secure) {
            unmet.push(UnmetRule {
                member: "redirect_uris",
                expected: vec![json!(["https://"])],
                rule: "redirect URIs that begin with https://, or are on this machine: FAPI 2.0 Security Profile \
                       section 5.3.2.2",
                is_settable: false,
                obstacle: None,
            });
        }
        unmet
    }

    /// The rules for the algorithms of signatures: those of this server, and those that are fixed for the application.
    fn unmet_signatures(self, settings: &OidcSettings) -> Vec<UnmetRule> {
        let by_server = [
            (
                "id_token_signed_response_alg",
                Some(settings.id_token_algorithm),
            ),
            (
                "authorization_signed_response_alg",
                settings.authorization_response_algorithm,
            ),
            ("userinfo_signed_response_alg", settings.userinfo_algorithm),
            (
                "introspection_signed_response_alg",
                settings.introspection_algorithm,
            ),
        ]
        .map(|(member, algorithm)| (member, algorithm.map(SigningAlgorithm::as_str), true));
        // The application has the keys of the others.
        let by_client = [
            (
                "request_object_signing_alg",
                settings.request_object_algorithm,
            ),
            (
                "backchannel_authentication_request_signing_alg",
                settings.backchannel_request_algorithm,
            ),
            (
                "token_endpoint_auth_signing_alg",
                settings.assertion_algorithm,
            ),
        ]
        .map(|(member, algorithm)| (member, algorithm.map(ClientAlgorithm::as_str), false));
        let permitted = self.algorithms();
        by_server
            .into_iter()
            .chain(by_client)
            .filter(|(_, algorithm, _)| algorithm.is_some_and(|one| !permitted.contains(&one)))
            .map(|(member, _, is_settable)| UnmetRule {
                member,
                expected: permitted.iter().map(|one| json!(one)).collect(),
                rule: "no signatures with RS256: FAPI 2.0 Security Profile section 5.4.1",
                is_settable,
                obstacle: None,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::application_type::ApplicationType;
    use crate::backchannel_delivery::BackchannelDelivery;

    #[test]
    fn fapi_ciba_permits_no_push() {
        let endpoint = url::Url::parse("https://rp.example/push").expect("a URL");
        let mut settings = OidcSettings::new(ApplicationType::Web);
        let mut has_rule = |delivery| {
            settings.backchannel_delivery = delivery;
            let unmet = SecurityProfile::FapiCiba.unmet_rules(&settings, true);
            let mut members = unmet.iter().map(|rule| rule.member);
            members.any(|member| member == "backchannel_token_delivery_mode")
        };
        assert!(!has_rule(BackchannelDelivery::Ping(endpoint.clone())));
        assert!(has_rule(BackchannelDelivery::Push(endpoint)));
    }

    #[test]
    fn a_new_application_lacks_what_each_profile_requires() {
        let settings = OidcSettings::new(ApplicationType::Web);
        let members = |profile: SecurityProfile| -> Vec<&str> {
            let unmet = profile.unmet_rules(&settings, true).into_iter();
            unmet.map(|rule| rule.member).collect()
        };
        let fapi = [
            "token_endpoint_auth_method",
            "dpop_bound_access_tokens",
            "require_pushed_authorization_requests",
            "require_pkce",
            "id_token_signed_response_alg",
        ];
        assert_eq!(members(SecurityProfile::Fapi2), fapi);
        let mut signed = fapi.to_vec();
        signed.insert(4, "require_signed_request_object");
        assert_eq!(members(SecurityProfile::Fapi2MessageSigning), signed);
        assert_eq!(
            members(SecurityProfile::FapiCiba),
            [
                "token_endpoint_auth_method",
                "tls_client_certificate_bound_access_tokens",
                "jwks_uri",
                "id_token_signed_response_alg",
            ]
        );
    }
}
