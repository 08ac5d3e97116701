//! The names of SAML's elements.

use crate::xml::{Name, Namespace};

/// The namespace of assertions (SAML core section 2).
pub const SAML: Namespace = Namespace::new("saml", "urn:oasis:names:tc:SAML:2.0:assertion");
/// The namespace of the protocol (SAML core section 3).
pub const SAMLP: Namespace = Namespace::new("samlp", "urn:oasis:names:tc:SAML:2.0:protocol");

/// A request to sign a user in (SAML core section 3.4.1).
pub const AUTHN_REQUEST: Name = SAMLP.name("AuthnRequest");
/// A request to sign a user out (SAML core section 3.7.1).
pub const LOGOUT_REQUEST: Name = SAMLP.name("LogoutRequest");
/// The response to a logout request (SAML core section 3.7.2).
pub const LOGOUT_RESPONSE: Name = SAMLP.name("LogoutResponse");
/// The requested kind of NameID (SAML core section 3.4.1.1).
pub const NAME_ID_POLICY: Name = SAMLP.name("NameIDPolicy");
/// The requested method of authentication (SAML core section 3.3.2.2.1).
pub const REQUESTED_AUTHN_CONTEXT: Name = SAMLP.name("RequestedAuthnContext");
/// A session of a user (SAML core section 3.7.1).
pub const SESSION_INDEX: Name = SAMLP.name("SessionIndex");
/// The result of a request (SAML core section 3.2.2.1).
pub const STATUS: Name = SAMLP.name("Status");
/// The result as a code (SAML core section 3.2.2.2).
pub const STATUS_CODE: Name = SAMLP.name("StatusCode");
/// The result as a text (SAML core section 3.2.2.3).
pub const STATUS_MESSAGE: Name = SAMLP.name("StatusMessage");

/// An authentication context class (SAML core section 2.7.2.2).
pub const AUTHN_CONTEXT_CLASS_REF: Name = SAML.name("AuthnContextClassRef");
/// A document that describes an authentication context (SAML core section 2.7.2.2).
pub const AUTHN_CONTEXT_DECL_REF: Name = SAML.name("AuthnContextDeclRef");
/// An identifier of an extension (SAML core section 2.2.1).
pub const BASE_ID: Name = SAML.name("BaseID");
/// An encrypted identifier (SAML core section 2.2.4).
pub const ENCRYPTED_ID: Name = SAML.name("EncryptedID");
/// The sender of a message (SAML core section 2.2.5).
pub const ISSUER: Name = SAML.name("Issuer");
/// The identifier of a user (SAML core section 2.2.3).
pub const NAME_ID: Name = SAML.name("NameID");
/// The user that a message refers to (SAML core section 2.4.1).
pub const SUBJECT: Name = SAML.name("Subject");
/// The method by which a service provider confirms the subject (SAML core section 2.4.1.1).
pub const SUBJECT_CONFIRMATION: Name = SAML.name("SubjectConfirmation");
/// The conditions of a subject confirmation (SAML core section 2.4.1.2).
pub const SUBJECT_CONFIRMATION_DATA: Name = SAML.name("SubjectConfirmationData");

/// The method of subject confirmation by which the bearer of an assertion is its subject (SAML profiles section 3.3).
pub const BEARER: &str = "urn:oasis:names:tc:SAML:2.0:cm:bearer";
