//! The names of SAML's elements.

use crate::xml::{Name, Namespace};

/// What asserts (SAML core section 2).
pub const SAML: Namespace = Namespace::new("saml", "urn:oasis:names:tc:SAML:2.0:assertion");
/// What is sent (SAML core section 3).
pub const SAMLP: Namespace = Namespace::new("samlp", "urn:oasis:names:tc:SAML:2.0:protocol");

/// A request to sign a person in (SAML core section 3.4.1).
pub const AUTHN_REQUEST: Name = SAMLP.name("AuthnRequest");
/// A request to sign a person out (SAML core section 3.7.1).
pub const LOGOUT_REQUEST: Name = SAMLP.name("LogoutRequest");
/// The answer to it (SAML core section 3.7.2).
pub const LOGOUT_RESPONSE: Name = SAMLP.name("LogoutResponse");
/// Which name of a person is wanted (SAML core section 3.4.1.1).
pub const NAME_ID_POLICY: Name = SAMLP.name("NameIDPolicy");
/// How a person is to sign in (SAML core section 3.3.2.2.1).
pub const REQUESTED_AUTHN_CONTEXT: Name = SAMLP.name("RequestedAuthnContext");
/// One of a person's sessions (SAML core section 3.7.1).
pub const SESSION_INDEX: Name = SAMLP.name("SessionIndex");
/// What became of a request (SAML core section 3.2.2.1).
pub const STATUS: Name = SAMLP.name("Status");
/// What became of it, as a code (SAML core section 3.2.2.2).
pub const STATUS_CODE: Name = SAMLP.name("StatusCode");
/// What became of it, in words (SAML core section 3.2.2.3).
pub const STATUS_MESSAGE: Name = SAMLP.name("StatusMessage");

/// A way to sign in (SAML core section 2.7.2.2).
pub const AUTHN_CONTEXT_CLASS_REF: Name = SAML.name("AuthnContextClassRef");
/// A way to sign in, as a document that describes it (SAML core section 2.7.2.2).
pub const AUTHN_CONTEXT_DECL_REF: Name = SAML.name("AuthnContextDeclRef");
/// An identifier of a kind that others define (SAML core section 2.2.1).
pub const BASE_ID: Name = SAML.name("BaseID");
/// An identifier that is encrypted (SAML core section 2.2.4).
pub const ENCRYPTED_ID: Name = SAML.name("EncryptedID");
/// Who sends a message (SAML core section 2.2.5).
pub const ISSUER: Name = SAML.name("Issuer");
/// What a person is called (SAML core section 2.2.3).
pub const NAME_ID: Name = SAML.name("NameID");
/// Whom a message is about (SAML core section 2.4.1).
pub const SUBJECT: Name = SAML.name("Subject");
/// How that person is known to be the one (SAML core section 2.4.1.1).
pub const SUBJECT_CONFIRMATION: Name = SAML.name("SubjectConfirmation");
