//! The request to sign a person in.

use super::names::{
    AUTHN_CONTEXT_DECL_REF, AUTHN_REQUEST, NAME_ID_POLICY, REQUESTED_AUTHN_CONTEXT, SUBJECT,
    SUBJECT_CONFIRMATION,
};
use super::{FormError, Header, MessageError, NameId, UnsupportedError, read};
use crate::xml::{Element, WriteError};

/// A request to sign a person in (SAML core section 3.4.1). `Conditions`, `Scoping`, `Extensions`,
/// `AttributeConsumingServiceIndex` and `ProviderName` are not looked at: they ask for nothing that has to be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthnRequest {
    /// What it begins with.
    pub header: Header,
    /// Whether the person has to sign in even with a session.
    pub force_authn: bool,
    /// Whether nothing may be shown to the person.
    pub is_passive: bool,
    /// The binding of the response, a URI.
    pub protocol_binding: Option<String>,
    /// Where the response goes. Excludes `acs_index`.
    pub acs_url: Option<String>,
    /// Which of the registered places the response goes to. Excludes `acs_url` and `protocol_binding`.
    pub acs_index: Option<u16>,
    /// Which name of the person is wanted.
    pub name_id_policy: Option<NameIdPolicy>,
    /// How the person is to sign in.
    pub requested_authn_context: Option<RequestedAuthnContext>,
    /// Who is to sign in.
    pub subject: Option<Subject>,
}

/// Which name of a person is wanted (SAML core section 3.4.1.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameIdPolicy {
    /// What kind of name, a URI.
    pub format: Option<String>,
    /// For whom it is to be, if not for the sender: an entity ID.
    pub sp_name_qualifier: Option<String>,
    /// Whether one may be made.
    pub allow_create: bool,
}

/// How a person is to sign in (SAML core section 3.3.2.2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedAuthnContext {
    /// How what is done compares to what is asked for.
    pub comparison: Comparison,
    /// The classes that would do, URIs, the best first.
    pub classes: Vec<String>,
    /// Whether documents that describe a way to sign in are named instead. They can't be met.
    pub declarations: bool,
}

/// How the way a person signs in compares to the ways that are asked for (SAML core section 3.3.2.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Comparison {
    /// It is one of them.
    #[default]
    Exact,
    /// It is at least as strong as one of them.
    Minimum,
    /// It is as strong as possible, and not stronger than one of them.
    Maximum,
    /// It is stronger than each of them.
    Better,
}

/// Who is to sign in (SAML core section 2.4.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// What the person is called.
    pub name_id: NameId,
    /// Whether it is said how the person is to be confirmed as the one.
    pub has_confirmation: bool,
}

impl AuthnRequest {
    /// Writes a request that has the person sign in whatever session there is, and the response go to `acs`, by a form.
    /// It is not signed.
    ///
    /// # Errors
    /// [`WriteError`]
    pub fn asking_anew(header: &Header, acs: &str) -> Result<String, WriteError> {
        let attributes = [
            ("ForceAuthn", Some("true")),
            (
                "ProtocolBinding",
                Some("urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"),
            ),
            ("AssertionConsumerServiceURL", Some(acs)),
        ];
        header.write(AUTHN_REQUEST, None, attributes, |_| {})
    }

    /// Reads a request.
    ///
    /// # Errors
    /// [`MessageError::Malformed`] for what breaks the schema or SAML core, and [`MessageError::Unsupported`] for
    /// another version, and for a subject that is not named by a `NameID`.
    pub fn read(root: Element<'_>) -> Result<Self, MessageError> {
        let header = Header::read(root, AUTHN_REQUEST)?;
        let protocol_binding = read::uri(root, "ProtocolBinding")?;
        let acs_url = read::uri(root, "AssertionConsumerServiceURL")?;
        let acs_index = read::index(root, "AssertionConsumerServiceIndex")?;
        if acs_index.is_some() && (acs_url.is_some() || protocol_binding.is_some()) {
            return Err(FormError::TwoEndpoints.into());
        }
        let context = root.optional_child(REQUESTED_AUTHN_CONTEXT)?;
        let subject = root.optional_child(SUBJECT)?;
        Ok(Self {
            force_authn: read::boolean(root, "ForceAuthn")?,
            is_passive: read::boolean(root, "IsPassive")?,
            protocol_binding,
            acs_url,
            acs_index,
            name_id_policy: root
                .optional_child(NAME_ID_POLICY)?
                .map(NameIdPolicy::read)
                .transpose()?,
            requested_authn_context: context.map(RequestedAuthnContext::read).transpose()?,
            subject: subject
                .map(|subject| Subject::read(subject, &header))
                .transpose()?,
            header,
        })
    }
}

impl NameIdPolicy {
    fn read(policy: Element<'_>) -> Result<Self, FormError> {
        Ok(Self {
            format: read::uri(policy, "Format")?,
            sp_name_qualifier: read::string(policy, "SPNameQualifier")?,
            allow_create: read::boolean(policy, "AllowCreate")?,
        })
    }
}

impl RequestedAuthnContext {
    fn read(context: Element<'_>) -> Result<Self, FormError> {
        let comparison = match context.attribute("Comparison") {
            None | Some("exact") => Comparison::Exact,
            Some("minimum") => Comparison::Minimum,
            Some("maximum") => Comparison::Maximum,
            Some("better") => Comparison::Better,
            Some(_) => {
                return Err(FormError::Value {
                    name: "Comparison",
                    must: "exact, minimum, maximum or better",
                });
            }
        };
        let classes = read::classes(context)?;
        let declarations = context
            .children()
            .any(|child| child.is(AUTHN_CONTEXT_DECL_REF));
        if classes.is_empty() != declarations {
            return Err(FormError::Value {
                name: "RequestedAuthnContext",
                must: "a list of classes, or of declarations",
            });
        }
        Ok(Self {
            comparison,
            classes,
            declarations,
        })
    }
}

impl Subject {
    fn read(subject: Element<'_>, header: &Header) -> Result<Self, MessageError> {
        let name_id = NameId::within(subject, header)?;
        let has_confirmation = subject
            .children()
            .any(|child| child.is(SUBJECT_CONFIRMATION));
        let unnamed = if has_confirmation {
            UnsupportedError::SubjectConfirmation
        } else {
            UnsupportedError::UnnamedSubject
        };
        Ok(Self {
            name_id: name_id.ok_or_else(|| header.unsupported(unnamed))?,
            has_confirmation,
        })
    }
}
