//! Client authentication (RFC 6749 section 2.3, OpenID Connect Core 1.0 section 9, RFC 8705). An application has one
//! method, and the token endpoint accepts no other. Introspection, revocation and receipts also accept HTTP Basic
//! from each application with a secret, because resource servers support no other method there.

pub mod assertion;
pub mod basic;
pub mod certificate;

use std::sync::Arc;

use super::error::TokenError;
use super::parameters::Parameters;
use super::tokens::{Presented, PresentedText};
use crate::domain::operations::traffic::rate_limits::keys::Network;
use crate::domain::{InternalError, Services};
use crate::keys::jws_verifier::signing_algorithms;
use crate::oidc::client_auth::assertion::note_use;
use crate::oidc::client_auth::certificate::PresentedCertificate;
use crate::oidc::dpop::proof;
use crate::oidc::dpop::proof::{Proof, ProofHeader, ProvenRequest};
use crate::oidc::error::Reason;
use assent_model::application::{Application, SenderConstraint};
use assent_model::client_auth::{ClientAuthMethod, ClientAuthentication};
use assent_model::id::Did;
use assent_model::secret::{Digest, Secret};
use assent_model::token_binding::{CertificateDigest, KeyThumbprint, TokenBinding};
use assent_store::PresentedState;
use assent_telemetry::SPANS;

/// The only `client_assertion_type` (RFC 7523 section 2.2).
const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// An endpoint for applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientEndpoint {
    /// `/oidc/token`
    Token,
    /// `/oidc/token/introspection` (RFC 7662)
    Introspection,
    /// `/oidc/token/revocation` (RFC 7009)
    Revocation,
    /// `/oidc/par` (RFC 9126)
    PushedRequest,
    /// `/oidc/backchannel` (OpenID CIBA Core 1.0 section 7)
    Backchannel,
    /// `/oidc/device_authorization` (RFC 8628)
    DeviceAuthorization,
    /// `/oidc/receipts/{id}`
    Receipts,
}

impl ClientEndpoint {
    /// All endpoints.
    pub const ALL: [Self; 7] = [
        Self::Token,
        Self::Introspection,
        Self::Revocation,
        Self::PushedRequest,
        Self::Backchannel,
        Self::DeviceAuthorization,
        Self::Receipts,
    ];

    /// The path; that of receipts is followed by the identifier of one.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Token => "/oidc/token",
            Self::Introspection => "/oidc/token/introspection",
            Self::Revocation => "/oidc/token/revocation",
            Self::PushedRequest => "/oidc/par",
            Self::Backchannel => "/oidc/backchannel",
            Self::DeviceAuthorization => "/oidc/device_authorization",
            Self::Receipts => "/oidc/receipts",
        }
    }

    /// The member of discovery that has the address.
    pub const fn metadata_member(self) -> &'static str {
        match self {
            Self::Token => "token_endpoint",
            Self::Introspection => "introspection_endpoint",
            Self::Revocation => "revocation_endpoint",
            Self::PushedRequest => "pushed_authorization_request_endpoint",
            Self::Backchannel => "backchannel_authentication_endpoint",
            Self::DeviceAuthorization => "device_authorization_endpoint",
            Self::Receipts => "receipts_endpoint",
        }
    }

    /// Whether a request may have a DPoP proof.
    const fn accepts_proofs(self) -> bool {
        matches!(self, Self::Token | Self::PushedRequest)
    }

    /// Whether an application with this method may use HTTP Basic.
    fn accepts_basic(self, method: ClientAuthMethod) -> bool {
        match self {
            Self::Token | Self::PushedRequest | Self::Backchannel | Self::DeviceAuthorization => {
                method == ClientAuthMethod::ClientSecretBasic
            }
            Self::Introspection | Self::Revocation | Self::Receipts => method.uses_secret(),
        }
    }
}

/// The authentication data of an application's request.
#[derive(Clone, Copy, Debug)]
pub struct ClientAuthRequest<'a> {
    /// The endpoint.
    pub endpoint: ClientEndpoint,
    /// The network of the client.
    pub from: Network,
    /// The `Authorization` header.
    pub authorization: Option<&'a str>,
    /// The certificate of the connection.
    pub certificate: Option<PresentedCertificate<'a>>,
    /// The DPoP headers.
    pub proof: ProofHeader<'a>,
    /// The body.
    pub parameters: &'a Parameters,
    /// Whether the request waits for the decision of a user, so that it may also wait for a moment to be authenticated.
    pub is_patient: bool,
}

/// An authenticated application. A public one has only named itself.
#[derive(Clone, Debug)]
pub struct AuthenticatedClient {
    /// The application.
    pub application: Arc<Application>,
    /// The certificate of the connection.
    pub certificate: Option<CertificateDigest>,
    /// The DPoP proof of the request.
    pub proof: Option<Proof>,
    /// The epoch in which tokens are issued. `None` if the authentication took time, so that the application and the
    /// epoch may have changed since they were read.
    pub epoch: Option<u32>,
}

impl AuthenticatedClient {
    /// Checks that the request proves to hold the key to which the application's tokens must be bound.
    ///
    /// # Errors
    /// [`TokenError`] if the certificate or the DPoP proof is missing.
    pub fn check_possession(&self) -> Result<(), TokenError> {
        match self.application.settings.sender_constraint {
            SenderConstraint::Certificate if self.certificate.is_none() => {
                Err(TokenError::InvalidRequest(
                    "the connection has no client certificate, to which the tokens of this application are bound; use \
                     the addresses of mtls_endpoint_aliases"
                        .to_owned(),
                ))
            }
            SenderConstraint::DpopKey if self.proof.is_none() => Err(TokenError::InvalidProof(
                "the request has none, and the tokens of this application are bound to a DPoP key",
            )),
            _ => Ok(()),
        }
    }

    /// The key to which access tokens of this request are bound.
    pub fn binding(&self) -> Option<TokenBinding> {
        match self.application.settings.sender_constraint {
            SenderConstraint::Certificate => self.certificate.map(TokenBinding::Certificate),
            SenderConstraint::Optional | SenderConstraint::DpopKey => {
                self.proof.map(|proof| TokenBinding::DpopKey(proof.key))
            }
        }
    }

    /// The key to which refresh tokens of this request are bound: those of a public client to its DPoP key (RFC 9449
    /// section 5). Others are bound to the client, which authenticates itself.
    pub fn refresh_key(&self) -> Option<KeyThumbprint> {
        let is_public = !self.application.settings.application_type.is_confidential();
        self.proof.filter(|_| is_public).map(|proof| proof.key)
    }
}

/// The credentials of a client.
enum Credentials<'a> {
    /// `client_secret_basic`
    Basic { id: Did, secret: Secret },
    /// `client_secret_post`
    Post { id: Did, secret: Secret },
    /// `client_secret_jwt` or `private_key_jwt`
    Assertion { id: Did, text: &'a str },
    /// Only `client_id`: a public client, or one that authenticates with its certificate.
    Nothing { id: Did },
}

impl Credentials<'_> {
    const fn id(&self) -> &Did {
        match self {
            Self::Basic { id, .. }
            | Self::Post { id, .. }
            | Self::Assertion { id, .. }
            | Self::Nothing { id } => id,
        }
    }
}

/// Authenticates the calling application. A rate limit of failures for each application and network prevents brute
/// force of secrets. Successful calls pass, are not counted,
/// and clear the count. Nor are those of a public application, which has no secret:
/// otherwise any client in its users' networks could use up its limit.
///
/// `text` is the token or code in the request. The statement that reads the application reads its state, too.
///
/// # Errors
/// [`TokenError`] if the authentication or the database fails.
#[tracing::instrument(target = SPANS, skip_all, name = "oidc.client_authentication")]
pub async fn authenticate(
    services: &Services,
    call: ClientAuthRequest<'_>,
    text: Option<PresentedText>,
) -> Result<(AuthenticatedClient, Option<Presented>), TokenError> {
    let by_header = call.authorization.is_some();
    let presented = presented_credentials(call)?;
    let limit = &services.rate_limits.client_auth_failures;
    let caller = (presented.id().clone(), call.from);
    if let (Some(authorities), Some(_)) = (&services.client_authorities, call.certificate) {
        // Before the application is read, because it takes time.
        authorities.reload_if_due().await;
    }
    let (found, state) = read(services, presented.id(), text.as_ref(), call).await?;
    let method = found
        .as_ref()
        .map(|(application, _)| application.settings.auth_method());
    let reason = match found {
        None => basic::UNKNOWN,
        Some((application, epoch)) => match verify(services, &application, &presented, call).await?
        {
            Ok(()) => {
                // Other clients in the same network cannot block the application with wrong credentials. A secret has
                // 256 random bits, so the limit is not what prevents a successful guess.
                if method != Some(ClientAuthMethod::None) {
                    limit.clear(&caller, services.now());
                }
                // Revocation only reduces access, so a disabled application may use it.
                if !application.settings.enabled && call.endpoint != ClientEndpoint::Revocation {
                    tracing::info!(application = %application.id, "request of a disabled application rejected");
                    return Err(TokenError::ApplicationDisabled);
                }
                // An assertion may need a download, and a write to the replay cache.
                let is_current = !matches!(presented, Credentials::Assertion { .. });
                let presented = match (text, state) {
                    (Some(text), Some(state)) if is_current => Some(Presented { text, state }),
                    (Some(text), _) => Some(Presented::read(services, text).await?),
                    (None, _) => None,
                };
                let proof = proof_of(services, &application, call).inspect_err(|error| {
                    // Each client receives a new nonce this way.
                    if !matches!(error, TokenError::UseNonce) {
                        let application = &application.id;
                        tracing::info!(%application, %error, "DPoP proof rejected");
                    }
                })?;
                let client = AuthenticatedClient {
                    application,
                    certificate: call.certificate.map(|shown| Digest::sha256(shown.der)),
                    proof,
                    epoch: is_current.then_some(epoch),
                };
                return Ok((client, presented));
            }
            Err(reason) => reason,
        },
    };
    let registered = method.map(ClientAuthMethod::as_str);
    tracing::info!(application = %presented.id(), registered, reason, "client authentication failed");
    if method != Some(ClientAuthMethod::None) {
        limit
            .count_call(&caller, services.now())
            .map_err(TokenError::TooManyFailures)?;
    }
    Err(TokenError::InvalidClient { by_header, reason })
}

/// Reads the application with this id, the epoch in which tokens are issued now, and the state of a token or code.
async fn read(
    services: &Services,
    id: &Did,
    text: Option<&PresentedText>,
    call: ClientAuthRequest<'_>,
) -> Result<(Option<(Arc<Application>, u32)>, Option<PresentedState>), InternalError> {
    let store = &services.store;
    Ok(match text {
        Some(text) => {
            let (found, state) = store.presented_with_client(id, &text.key()).await?;
            (found, Some(state))
        }
        // Thousands of polls share a few statements.
        None if call.is_patient => (store.client_of_waiting_request(id).await?, None),
        None => (store.client_in_epoch(id).await?, None),
    })
}

/// Returns the DPoP proof of a request. Who accepts it must make its claim.
fn proof_of(
    services: &Services,
    application: &Application,
    call: ClientAuthRequest<'_>,
) -> Result<Option<Proof>, TokenError> {
    if !call.endpoint.accepts_proofs() {
        return Ok(None);
    }
    let Some(text) = call.proof.proof()? else {
        return Ok(None);
    };
    let request = ProvenRequest {
        method: "POST",
        path: call.endpoint.path(),
        access_token: None,
    };
    let proof = proof::verify(services, text, request)?;
    let permitted = signing_algorithms(application.settings.security_profile);
    match permitted.contains(&proof.algorithm) {
        true => Ok(Some(proof)),
        false => Err(TokenError::InvalidProof(
            "its alg is not one of the security profile of the application",
        )),
    }
}

/// Verifies the presented credentials with the method of the application.
async fn verify(
    services: &Services,
    application: &Application,
    presented: &Credentials<'_>,
    call: ClientAuthRequest<'_>,
) -> Result<Result<(), Reason>, TokenError> {
    let settings = &application.settings;
    let secret_fits = |secret: &Secret| match application.secrets.find(secret) {
        Some(id) => {
            note_use(services, application, id);
            Ok(())
        }
        None => Err("the client secret is wrong"),
    };
    Ok(match (presented, settings.auth_method()) {
        (Credentials::Basic { secret, .. }, method) if call.endpoint.accepts_basic(method) => {
            secret_fits(secret)
        }
        (Credentials::Post { secret, .. }, ClientAuthMethod::ClientSecretPost) => {
            secret_fits(secret)
        }
        (Credentials::Nothing { .. }, ClientAuthMethod::None) => Ok(()),
        (
            Credentials::Assertion { text, .. },
            ClientAuthMethod::ClientSecretJwt | ClientAuthMethod::PrivateKeyJwt,
        ) => {
            // Profiles of back-channel clients send the URL of that endpoint (OpenID CIBA Core 1.0 section 7.1).
            let own_url = (call.endpoint == ClientEndpoint::Backchannel)
                .then(|| format!("{}/backchannel", services.issuer));
            assertion::verify(services, application, text, own_url.as_deref()).await?
        }
        (Credentials::Nothing { .. }, ClientAuthMethod::TlsClientCertificate) => {
            match &settings.authentication {
                ClientAuthentication::TlsClientCertificate(identity) => {
                    certificate::verify(services, identity, call.certificate)
                }
                _ => Err("the application has no registered certificate"),
            }
        }
        (Credentials::Nothing { .. }, _) => {
            Err("the request has no client authentication, but the application must authenticate")
        }
        _ => Err("the application is registered for another token_endpoint_auth_method"),
    })
}

fn presented_credentials(call: ClientAuthRequest<'_>) -> Result<Credentials<'_>, TokenError> {
    let invalid = |what: &str| TokenError::InvalidRequest(what.to_owned());
    let refused = |reason| TokenError::InvalidClient {
        by_header: call.authorization.is_some(),
        reason,
    };
    let client_id = call.parameters.get("client_id");
    let secret = call.parameters.get("client_secret");
    let assertion = call.parameters.get("client_assertion");
    let ways = [
        call.authorization.is_some(),
        secret.is_some(),
        assertion.is_some(),
    ];
    if ways.into_iter().filter(|way| *way).count() > 1 {
        return Err(invalid(
            "the client authenticates in two ways at once; use one",
        ));
    }
    let read = |id: &str| id.parse::<Did>().map_err(|_| refused(basic::UNKNOWN));
    let presented = match (call.authorization, secret, assertion) {
        (Some(header), ..) => {
            let (id, secret) = basic::parse(header).map_err(refused)?;
            Credentials::Basic { id, secret }
        }
        (_, Some(secret), _) => {
            let id = read(client_id.ok_or_else(|| invalid("client_id is missing"))?)?;
            Credentials::Post {
                id,
                secret: Secret::new(secret),
            }
        }
        (.., Some(text)) => {
            if call.parameters.get("client_assertion_type") != Some(JWT_BEARER) {
                return Err(invalid(&format!(
                    "client_assertion_type must be {JWT_BEARER}"
                )));
            }
            let id = assertion::claimed_client(text)
                .ok_or_else(|| refused("the client assertion cannot be read"))?;
            Credentials::Assertion { id, text }
        }
        _ => Credentials::Nothing {
            id: read(client_id.ok_or_else(|| invalid("client_id is missing"))?)?,
        },
    };
    if client_id.is_some_and(|other| other != presented.id().as_str()) {
        return Err(invalid("client_id differs from the authenticated client"));
    }
    Ok(presented)
}
