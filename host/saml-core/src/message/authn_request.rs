//! The request to sign a user in.

use super::names::{
    AUTHN_CONTEXT_DECL_REF, AUTHN_REQUEST, BEARER, NAME_ID_POLICY, REQUESTED_AUTHN_CONTEXT,
    SUBJECT, SUBJECT_CONFIRMATION, SUBJECT_CONFIRMATION_DATA,
};
use super::{FormError, Header, MessageError, NameId, UnsupportedError, read};
use crate::xml::{Element, WriteError};

/// A request to sign a user in (SAML core section 3.4.1). `Conditions`, `Scoping`, `Extensions`,
/// `AttributeConsumingServiceIndex` and `ProviderName` are ignored, because the server need not satisfy them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthnRequest {
    /// The common header.
    pub header: Header,
    /// Whether the user must authenticate again even if a session exists.
    pub force_authn: bool,
    /// Whether no page may be shown to the user.
    pub is_passive: bool,
    /// The binding of the response: a URI.
    pub protocol_binding: Option<String>,
    /// The URL that receives the response. Excludes `acs_index`.
    pub acs_url: Option<String>,
    /// The index of the registered ACS that receives the response. Excludes `acs_url` and `protocol_binding`.
    pub acs_index: Option<u16>,
    /// The requested kind of NameID.
    pub name_id_policy: Option<NameIdPolicy>,
    /// The requested method of authentication.
    pub requested_authn_context: Option<RequestedAuthnContext>,
    /// The requested user.
    pub subject: Option<Subject>,
}

/// The requested kind of NameID (SAML core section 3.4.1.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameIdPolicy {
    /// The format of the NameID: a URI.
    pub format: Option<String>,
    /// The entity ID of the service provider that the NameID is for, if it is not the sender.
    pub sp_name_qualifier: Option<String>,
    /// Whether the identity provider may create a NameID.
    pub allow_create: bool,
}

/// The requested method of authentication (SAML core section 3.3.2.2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedAuthnContext {
    /// The comparison between the performed and the requested method.
    pub comparison: Comparison,
    /// The accepted authentication context classes (URIs), the preferred one first.
    pub classes: Vec<String>,
    /// Whether the request refers to declarations instead of classes. The server cannot satisfy them.
    pub declarations: bool,
}

/// The comparison between the performed and the requested methods of authentication (SAML core section 3.3.2.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Comparison {
    /// The performed method is one of the requested ones.
    #[default]
    Exact,
    /// The performed method is at least as strong as one of the requested ones.
    Minimum,
    /// The performed method is as strong as possible, but not stronger than one of the requested ones.
    Maximum,
    /// The performed method is stronger than each of the requested ones.
    Better,
}

/// The requested user (SAML core section 2.4.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The identifier of the user.
    pub name_id: NameId,
    /// Whether the request specifies a subject confirmation that differs from that of every assertion: by bearer.
    pub has_confirmation: bool,
}

impl AuthnRequest {
    /// Writes a request with `ForceAuthn`, so the user authenticates even if a session exists. The response goes to
    /// `acs` with the POST binding. The request is not signed.
    ///
    /// # Errors
    /// [`WriteError`]
    pub fn with_force_authn(header: &Header, acs: &str) -> Result<String, WriteError> {
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
    /// [`MessageError::Malformed`] if the request violates the schema or SAML core. [`MessageError::Unsupported`] for
    /// another version, and for a subject without a `NameID`.
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
            requested_authn_context: context
                .map(RequestedAuthnContext::read)
                .transpose()?
                .flatten(),
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
    /// Reads a requested context. An empty one requests nothing in particular, so it counts as absent.
    fn read(context: Element<'_>) -> Result<Option<Self>, FormError> {
        let comparison = match read::attribute(context, "Comparison") {
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
        if classes.is_empty() && !declarations {
            return Ok(None);
        }
        if !classes.is_empty() && declarations {
            return Err(FormError::Value {
                name: "RequestedAuthnContext",
                must: "a list of classes, or of declarations",
            });
        }
        Ok(Some(Self {
            comparison,
            classes,
            declarations,
        }))
    }
}

impl Subject {
    fn read(subject: Element<'_>, header: &Header) -> Result<Self, MessageError> {
        let name_id = NameId::within(subject, header)?;
        let has_confirmation = subject
            .children()
            .any(|child| child.is(SUBJECT_CONFIRMATION) && !is_plain_bearer(child));
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

/// Whether a subject confirmation is by bearer and without conditions, as that of each assertion is: some programs copy
/// it into their requests.
fn is_plain_bearer(confirmation: Element<'_>) -> bool {
    let is_empty_data = |child: Element<'_>| {
        child.is(SUBJECT_CONFIRMATION_DATA)
            && !child.has_attributes()
            && child.text().is_ok_and(|text| text.trim().is_empty())
    };
    read::attribute(confirmation, "Method") == Some(BEARER)
        && confirmation.children().all(is_empty_data)
}
