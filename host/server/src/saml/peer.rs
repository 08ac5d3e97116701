//! What this server and a service provider are to each other: names, addresses, keys, and whose message is of now.

use std::sync::Arc;
use std::time::Duration;

use openssl::x509::X509;

use crate::domain::keys::saml_keys;
use crate::domain::{InternalError, Services};
use assent_model::id::Did;
use assent_model::name::QuotedText;
use assent_model::saml::{MessageClaim, ServiceProvider};
use assent_model::secret::Digest;
use assent_saml_core::message::Header;
use assent_saml_core::xml::{Signer, TrustedKey};

/// How old a message may be, besides what clocks differ by.
const OLDEST: Duration = Duration::from_secs(5 * 60);

/// The service provider of a path.
pub async fn find(
    services: &Services,
    application: &str,
) -> Result<Option<Arc<ServiceProvider>>, InternalError> {
    match application.parse::<Did>() {
        Ok(id) => Ok(services.store.service_provider(&id).await?),
        Err(_) => Ok(None),
    }
}

/// What this server calls itself towards a service provider: the issuer's URL, unless the application has another.
pub fn entity_id<'a>(services: &'a Services, provider: &'a ServiceProvider) -> &'a str {
    provider
        .settings
        .idp_entity_id
        .as_deref()
        .unwrap_or(&services.issuer)
}

/// Where the service provider sends its requests for sign-on.
pub fn single_sign_on_url(services: &Services, id: &Did) -> String {
    address(services, "SingleSignOnService", id)
}

/// Where the service provider sends its messages of single logout.
pub fn single_logout_url(services: &Services, id: &Did) -> String {
    address(services, "SingleLogoutService", id)
}

fn address(services: &Services, service: &str, id: &Did) -> String {
    let base = services.settings.base_url.as_str().trim_end_matches('/');
    format!("{base}/sso/{service}/{id}")
}

/// A fresh `ID` for a message or an assertion: an `xs:ID` that nobody guesses (SAML core section 1.3.4).
pub fn message_id(services: &Services) -> String {
    format!("_{}", hex::encode(services.entropy.bytes::<20>()))
}

/// What signs for a service provider.
pub async fn signer(
    services: &Services,
    provider: &ServiceProvider,
) -> Result<Signer, InternalError> {
    let open = saml_keys::signing(services, &provider.id).await?;
    Signer::new(open.key.clone(), &open.certificate)
        .map_err(|error| InternalError::Saml(error.to_string()))
}

/// The keys that a service provider signs with. Nothing that a message brings along is ever one of them. One that can't
/// be used is an error: without it a message might count as one that nobody has to sign.
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
            "a certificate that is registered for {} is unfit: {error}",
            provider.id
        ))
    })
}

/// What a service provider calls a session: its `SessionIndex`. It is another for each, since one that several have in
/// common would tell them that two people are one (SAML core section 2.7.2), and lets nobody else speak of the session.
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

/// Why a message is not this service provider's, of now, and for here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Another wrote it, or it does not say who.
    #[error(
        "the Issuer of the message is {received}, and not the entity ID that is registered: {registered}"
    )]
    Issuer {
        /// What it says.
        received: QuotedText,
        /// What it should say.
        registered: QuotedText,
    },
    /// It was meant for another address.
    #[error(
        "the Destination of the message is {received}, and it came to {here}; has base_url changed?"
    )]
    Destination {
        /// What it says.
        received: QuotedText,
        /// What it should say.
        here: QuotedText,
    },
    /// It is signed, and could have been meant for another address.
    #[error(
        "the message is signed and has no Destination, which SAML bindings section 3.4.5.2 asks for"
    )]
    NoDestination,
    /// It was made too long ago.
    #[error("the IssueInstant of the message is {0} seconds ago; is a clock wrong?")]
    Old(i64),
    /// It was made later than now.
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

/// Checks whose message it is, for whom, and of when. One that is signed has to say for whom.
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

/// What tells a service provider's message from all others, for as long as its `IssueInstant` would do.
pub fn once(services: &Services, provider: &ServiceProvider, id: &str) -> MessageClaim {
    let skew = Duration::from_secs(provider.settings.clock_skew.into());
    // Neither holds a line break.
    let digest = Digest::sha256(format!("saml message\n{}\n{id}", provider.id).as_bytes());
    MessageClaim {
        digest,
        until: services.now() + OLDEST + skew * 2,
    }
}
