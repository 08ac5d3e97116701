//! The relation of this server and a service provider: names, addresses, keys, and checks of message headers.

use std::sync::Arc;
use std::time::Duration;

use openssl::x509::X509;

use crate::domain::{InternalError, Services};
use assent_model::id::Did;
use assent_model::name::QuotedText;
use assent_model::saml::{MessageClaim, ServiceProvider};
use assent_model::secret::Digest;
use assent_saml_core::message::Header;
use assent_saml_core::xml::TrustedKey;

/// The maximum age of a message, in addition to the permitted difference of clocks.
const OLDEST: Duration = Duration::from_secs(5 * 60);

/// Returns the service provider that a path names.
pub async fn find(
    services: &Services,
    application: &str,
) -> Result<Option<Arc<ServiceProvider>>, InternalError> {
    match application.parse::<Did>() {
        Ok(id) => Ok(services.store.service_provider(&id).await?),
        Err(_) => Ok(None),
    }
}

/// Returns the name of this server for a service provider: the issuer's URL, unless the application has another.
pub fn entity_id<'a>(services: &'a Services, provider: &'a ServiceProvider) -> &'a str {
    provider
        .settings
        .idp_entity_id
        .as_deref()
        .unwrap_or(&services.issuer)
}

/// The address to which the service provider sends requests for sign-on.
pub fn single_sign_on_url(services: &Services, id: &Did) -> String {
    address(services, "SingleSignOnService", id)
}

/// The address to which the service provider sends messages of single logout.
pub fn single_logout_url(services: &Services, id: &Did) -> String {
    address(services, "SingleLogoutService", id)
}

fn address(services: &Services, service: &str, id: &Did) -> String {
    let base = services.settings.base_url.as_str().trim_end_matches('/');
    format!("{base}/sso/{service}/{id}")
}

/// Returns a new `ID` for a message or an assertion: an `xs:ID` that cannot be guessed (SAML core section 1.3.4).
pub fn message_id(services: &Services) -> String {
    format!("_{}", hex::encode(services.entropy.bytes::<20>()))
}

/// Returns the keys with which a service provider signs. Keys in a message are never trusted. An unusable key is an
/// error: without it, the server might accept unsigned messages.
///
/// # Errors
/// If a registered certificate cannot be read.
pub fn trusted_keys(provider: &ServiceProvider) -> Result<Vec<TrustedKey>, InternalError> {
    let key = |pem: &str| {
        let certificate = X509::from_pem(pem.as_bytes()).map_err(|error| error.to_string())?;
        TrustedKey::of_certificate(&certificate).map_err(|error| error.to_string())
    };
    let keys = provider
        .settings
        .certificates
        .iter()
        .map(|certificate| key(&certificate.pem));
    keys.collect::<Result<_, _>>().map_err(|error| {
        InternalError::Saml(format!(
            "a registered certificate of {} cannot be used: {error}",
            provider.id
        ))
    })
}

/// Returns the `SessionIndex` of a session for a service provider. It differs for each service provider. A common value
/// would reveal that two users are the same (SAML core section 2.7.2), and would let another service provider name the
/// session.
///
/// # Errors
/// If the derivation from the root secret fails.
pub fn session_index(
    services: &Services,
    provider: &Did,
    sid: &str,
) -> Result<String, InternalError> {
    let code = services
        .root_secret
        .derive("session index", format!("{provider}\n{sid}").as_bytes())?;
    Ok(format!("_{}", hex::encode(code)))
}

/// The reason why a message is not from this service provider, not current, or not for this server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// The message has another issuer, or none.
    #[error(
        "the Issuer of the message is {received}, but the registered entity ID is {registered}"
    )]
    Issuer {
        /// The received value.
        received: QuotedText,
        /// The expected value.
        registered: QuotedText,
    },
    /// The message has another address as its destination.
    #[error(
        "the Destination of the message is {received}, but the message arrived at {here}; has base_url changed?"
    )]
    Destination {
        /// The received value.
        received: QuotedText,
        /// The expected value.
        here: QuotedText,
    },
    /// The message is signed without a destination, and might be for another address.
    #[error(
        "the message is signed and has no Destination, which SAML bindings section 3.4.5.2 requires"
    )]
    NoDestination,
    /// The message is too old.
    #[error("the IssueInstant of the message is {0} seconds ago; is a clock wrong?")]
    Old(i64),
    /// The message is from the future.
    #[error("the IssueInstant of the message is in {0} seconds; is a clock wrong?")]
    Early(i64),
}

impl HeaderError {
    /// The part of the header at fault, by its name in SAML.
    pub const fn attribute(&self) -> &'static str {
        match self {
            Self::Issuer { .. } => "Issuer",
            Self::Destination { .. } | Self::NoDestination => "Destination",
            Self::Old(_) | Self::Early(_) => "IssueInstant",
        }
    }
}

/// Checks the issuer, the destination and the time of a message. A signed message must have a destination.
///
/// # Errors
/// [`HeaderError`] with the part at fault.
pub fn check_header(
    services: &Services,
    provider: &ServiceProvider,
    header: &Header,
    here: &str,
    is_signed: bool,
) -> Result<(), HeaderError> {
    if header.issuer.as_ref() != Some(&provider.settings.entity_id) {
        let received = QuotedText::new(header.issuer.as_deref().unwrap_or_default());
        return Err(HeaderError::Issuer {
            received,
            registered: QuotedText::new(&provider.settings.entity_id),
        });
    }
    match &header.destination {
        Some(destination) if destination != here => {
            let received = QuotedText::new(destination);
            return Err(HeaderError::Destination {
                received,
                here: QuotedText::new(here),
            });
        }
        None if is_signed => return Err(HeaderError::NoDestination),
        _ => {}
    }
    let (now, skew) = (
        services.now(),
        Duration::from_secs(provider.settings.clock_skew.into()),
    );
    if header.issue_instant + OLDEST + skew < now {
        return Err(HeaderError::Old(
            now.seconds() - header.issue_instant.seconds(),
        ));
    }
    if now + skew < header.issue_instant {
        return Err(HeaderError::Early(
            header.issue_instant.seconds() - now.seconds(),
        ));
    }
    Ok(())
}

/// Returns the entry of the replay cache that identifies a service provider's message while its `IssueInstant` is
/// acceptable.
pub fn once(services: &Services, provider: &ServiceProvider, id: &str) -> MessageClaim {
    let skew = Duration::from_secs(provider.settings.clock_skew.into());
    // Neither part contains a line break.
    let digest = Digest::sha256(format!("saml message\n{}\n{id}", provider.id).as_bytes());
    MessageClaim {
        digest,
        until: services.now() + OLDEST + skew * 2,
        answer: None,
    }
}
