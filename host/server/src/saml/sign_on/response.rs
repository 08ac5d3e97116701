//! The response to a sign-on (SAML core section 3.3.3, SAML profiles section 4.1.4.2), written and signed.

use std::time::Duration;

use assent_model::clock::Timestamp;
use assent_model::saml::{NameId, PasskeyContext};
use assent_model::session::{Acr, Authentication};
use assent_plugin_host::SamlAttribute;
use assent_saml_core::message::names::{BEARER, ISSUER, NAME_ID, SAML, SAMLP, SUBJECT};
use assent_saml_core::message::{Status, instant_text};
use assent_saml_core::xml::{Name, Signer, WriteError, Writer, XS, XSI};

const RESPONSE: Name = SAMLP.name("Response");
const ASSERTION: Name = SAML.name("Assertion");

/// The class of a sign-in with the user's device (the product specification).
pub const AUTHN_CONTEXT: &str = "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport";
/// The class of a sign-in with a vendor's authenticator, which makes no promises (SAML authentication context section
/// 3.4.25).
pub const UNSPECIFIED: &str = "urn:oasis:names:tc:SAML:2.0:ac:classes:unspecified";
/// The class of a sign-in with a passkey on the login page: the level `phr` in IANA's registry of level-of-assurance
/// profiles (OpenID Connect EAP ACR Values 1.0 section 6.1).
pub const PHISHING_RESISTANT: &str =
    "http://schemas.openid.net/pape/policies/2007/06/phishing-resistant";
/// The format of attribute names, unless a plugin specifies another (SAML core section 8.2.3).
const BASIC: &str = "urn:oasis:names:tc:SAML:2.0:attrname-format:basic";

/// The members of every response.
#[derive(Clone, Copy, Debug)]
pub struct Envelope<'a> {
    /// The `ID` of the response.
    pub id: &'a str,
    /// The name of this server for the service provider.
    pub issuer: &'a str,
    /// The ACS URL.
    pub destination: &'a str,
    /// The `ID` of the request; `None` if the sign-on began at this server.
    pub in_response_to: Option<&'a str>,
    /// The current time.
    pub now: Timestamp,
}

/// The members of an assertion.
#[derive(Clone, Copy, Debug)]
pub struct Assertion<'a> {
    /// The `ID` of the assertion.
    pub id: &'a str,
    /// The SP entity ID.
    pub audience: &'a str,
    /// The name of the user.
    pub name_id: &'a NameId,
    /// The method and time of the authentication.
    pub authentication: &'a Authentication,
    /// The `SessionIndex` of the session.
    pub session_index: &'a str,
    /// Whether the request names exactly the class `unspecified`.
    pub unspecified_context: bool,
    /// The class of a sign-in with a passkey.
    pub passkey_context: PasskeyContext,
    /// The lifetime of the assertion.
    pub lifetime: Duration,
    /// The time by which the assertion is valid before it is issued.
    pub margin: Duration,
    /// The attributes from the plugins.
    pub attributes: &'a [SamlAttribute],
}

/// Returns a response with an assertion, both of them signed.
///
/// # Errors
/// [`WriteError`] if the XML cannot be written or signed.
pub fn success(
    envelope: Envelope<'_>,
    assertion: &Assertion<'_>,
    signer: &Signer,
) -> Result<String, WriteError> {
    response(envelope, &Status::success(), signer, |response| {
        response
            .open(ASSERTION)
            .attribute("Version", "2.0")
            .attribute("IssueInstant", instant_text(envelope.now))
            .signed(
                assertion.id,
                signer,
                |start| start.open(ISSUER).text(envelope.issuer),
                |rest| {
                    subject(rest, &envelope, assertion);
                    conditions(rest, &envelope, assertion);
                    authn_statement(rest, assertion);
                    attribute_statement(rest, assertion.attributes);
                },
            );
    })
}

/// Returns a signed response with the reason why there is no assertion.
///
/// # Errors
/// [`WriteError`] if the XML cannot be written or signed.
pub fn failure(
    envelope: Envelope<'_>,
    status: &Status,
    signer: &Signer,
) -> Result<String, WriteError> {
    response(envelope, status, signer, |_| {})
}

fn response(
    envelope: Envelope<'_>,
    status: &Status,
    signer: &Signer,
    content: impl FnOnce(&mut Writer),
) -> Result<String, WriteError> {
    let mut writer = Writer::new();
    writer
        .open(RESPONSE)
        .attribute("Version", "2.0")
        .attribute("IssueInstant", instant_text(envelope.now))
        .attribute("Destination", envelope.destination)
        .optional_attribute("InResponseTo", envelope.in_response_to)
        .signed(
            envelope.id,
            signer,
            |start| start.open(ISSUER).text(envelope.issuer),
            |rest| {
                status.write(rest);
                content(rest);
            },
        );
    writer.finish()
}

fn subject(writer: &mut Writer, envelope: &Envelope<'_>, assertion: &Assertion<'_>) {
    let until = instant_text(envelope.now + assertion.lifetime);
    writer.open(SUBJECT).content(|subject| {
        let name = assertion.name_id;
        subject
            .open(NAME_ID)
            .attribute("Format", name.format.uri())
            .text(&name.value);
        subject
            .open(SAML.name("SubjectConfirmation"))
            .attribute("Method", BEARER)
            .content(|confirmation| {
                confirmation
                    .open(SAML.name("SubjectConfirmationData"))
                    .attribute("NotOnOrAfter", until)
                    .attribute("Recipient", envelope.destination)
                    .optional_attribute("InResponseTo", envelope.in_response_to)
                    .empty();
            });
    });
}

fn conditions(writer: &mut Writer, envelope: &Envelope<'_>, assertion: &Assertion<'_>) {
    writer
        .open(SAML.name("Conditions"))
        .attribute("NotBefore", instant_text(envelope.now - assertion.margin))
        .attribute(
            "NotOnOrAfter",
            instant_text(envelope.now + assertion.lifetime),
        )
        .content(|conditions| {
            conditions
                .open(SAML.name("AudienceRestriction"))
                .content(|restriction| {
                    restriction
                        .open(SAML.name("Audience"))
                        .text(assertion.audience);
                });
        });
}

fn authn_statement(writer: &mut Writer, assertion: &Assertion<'_>) {
    let class = match assertion.authentication.acr() {
        Acr::Delegated => UNSPECIFIED,
        Acr::Device | Acr::PhishingResistant if assertion.unspecified_context => UNSPECIFIED,
        Acr::PhishingResistant if assertion.passkey_context != PasskeyContext::Unnamed => {
            PHISHING_RESISTANT
        }
        Acr::Device | Acr::PhishingResistant => AUTHN_CONTEXT,
    };
    writer
        .open(SAML.name("AuthnStatement"))
        .attribute("AuthnInstant", instant_text(assertion.authentication.at))
        .attribute("SessionIndex", assertion.session_index)
        .content(|statement| {
            statement
                .open(SAML.name("AuthnContext"))
                .content(|context| {
                    context.open(SAML.name("AuthnContextClassRef")).text(class);
                });
        });
}

/// Writes the attribute statement, if there are attributes.
fn attribute_statement(writer: &mut Writer, attributes: &[SamlAttribute]) {
    if attributes.is_empty() {
        return;
    }
    writer
        .open(SAML.name("AttributeStatement"))
        .content(|statement| {
            for attribute in attributes {
                statement
                    .open(SAML.name("Attribute"))
                    .attribute("Name", attribute.name.as_str())
                    .attribute(
                        "NameFormat",
                        attribute.name_format.as_deref().unwrap_or(BASIC),
                    )
                    .optional_attribute("FriendlyName", attribute.friendly_name.as_deref())
                    .content(|inside| {
                        for value in &attribute.values {
                            inside
                                .open(SAML.name("AttributeValue"))
                                .declare(XS)
                                .qualified_attribute(
                                    XSI.name("type"),
                                    attribute.value_type.as_str(),
                                )
                                .text(value);
                        }
                    });
            }
        });
}
