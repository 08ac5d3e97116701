//! The response to a sign-on (SAML core section 3.3.3, SAML profiles section 4.1.4.2), written and signed.

use std::time::Duration;

use assent_model::clock::Timestamp;
use assent_model::saml::{NameId, PasskeyContext};
use assent_model::session::{Acr, Authentication};
use assent_plugin_host::SamlAttribute;
use assent_saml_core::message::names::{ISSUER, NAME_ID, SAML, SAMLP, SUBJECT};
use assent_saml_core::message::{Status, instant_text};
use assent_saml_core::xml::{Name, Signer, WriteError, Writer, XS, XSI};

const RESPONSE: Name = SAMLP.name("Response");
const ASSERTION: Name = SAML.name("Assertion");
/// How a bearer proves to be the subject (SAML profiles section 3.3).
const BEARER: &str = "urn:oasis:names:tc:SAML:2.0:cm:bearer";

/// How the person signed in with a device of theirs, as assertions say it (the specification).
pub const AUTHN_CONTEXT: &str = "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport";
/// How the person signed in by a vendor's authenticator: nothing is promised of it (SAML authentication context section
/// 3.4.25).
pub const UNSPECIFIED: &str = "urn:oasis:names:tc:SAML:2.0:ac:classes:unspecified";
/// How the person signed in by a passkey on the login page: the class of the level `phr` in IANA's registry of
/// level-of-assurance profiles (OpenID Connect EAP ACR Values 1.0 section 6.1).
pub const PHISHING_RESISTANT: &str =
    "http://schemas.openid.net/pape/policies/2007/06/phishing-resistant";
/// How names of attributes are meant, unless a plugin says otherwise (SAML core section 8.2.3).
const BASIC: &str = "urn:oasis:names:tc:SAML:2.0:attrname-format:basic";

/// What every response says.
#[derive(Clone, Copy, Debug)]
pub struct Envelope<'a> {
    /// Its `ID`.
    pub id: &'a str,
    /// What this server calls itself.
    pub issuer: &'a str,
    /// The ACS URL.
    pub destination: &'a str,
    /// The `ID` of the request; none where the sign-on began here.
    pub in_response_to: Option<&'a str>,
    /// The present moment.
    pub now: Timestamp,
}

/// What an assertion says.
#[derive(Clone, Copy, Debug)]
pub struct Assertion<'a> {
    /// Its `ID`.
    pub id: &'a str,
    /// The SP entity ID.
    pub audience: &'a str,
    /// Who it is.
    pub name_id: &'a NameId,
    /// How and when the person signed in.
    pub authentication: &'a Authentication,
    /// What the service provider calls the session.
    pub session_index: &'a str,
    /// Whether the request asks for exactly the class `unspecified`.
    pub unspecified_context: bool,
    /// What it says of a sign-in by a passkey.
    pub passkey_context: PasskeyContext,
    /// How long it is valid.
    pub lifetime: Duration,
    /// What the plugins made.
    pub attributes: &'a [SamlAttribute],
}

/// A response with an assertion, both of them signed.
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

/// A response that says why there is no assertion.
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
        .attribute("NotBefore", instant_text(envelope.now))
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

/// There is one only where there are attributes.
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
