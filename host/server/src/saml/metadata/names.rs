//! The XML names of metadata.

use assent_saml_core::xml::{DSIG, Name, Namespace};

/// Metadata (SAML metadata section 2).
const MD: Namespace = Namespace::new("md", "urn:oasis:names:tc:SAML:2.0:metadata");
/// Supported algorithms (SAML v2.0 Metadata Profile for Algorithm Support section 2).
const ALG: Namespace = Namespace::new("alg", "urn:oasis:names:tc:SAML:metadata:algsupport");
/// Texts for users (SAML V2.0 Metadata Extensions for Login and Discovery User Interface section 2).
const MDUI: Namespace = Namespace::new("mdui", "urn:oasis:names:tc:SAML:metadata:ui");
const XML: Namespace = Namespace::new("xml", "http://www.w3.org/XML/1998/namespace");

/// The value of `protocolSupportEnumeration` for a role with SAML 2.0.
pub(super) const SAML2: &str = "urn:oasis:names:tc:SAML:2.0:protocol";
/// The start of the URI of each binding of SAML 2.0.
pub(super) const BINDINGS: &str = "urn:oasis:names:tc:SAML:2.0:bindings:";

pub(super) const ENTITY_DESCRIPTOR: Name = MD.name("EntityDescriptor");
pub(super) const ENTITIES_DESCRIPTOR: Name = MD.name("EntitiesDescriptor");
pub(super) const EXTENSIONS: Name = MD.name("Extensions");
pub(super) const IDP_SSO_DESCRIPTOR: Name = MD.name("IDPSSODescriptor");
pub(super) const SP_SSO_DESCRIPTOR: Name = MD.name("SPSSODescriptor");
pub(super) const KEY_DESCRIPTOR: Name = MD.name("KeyDescriptor");
pub(super) const ASSERTION_CONSUMER_SERVICE: Name = MD.name("AssertionConsumerService");
pub(super) const ATTRIBUTE_CONSUMING_SERVICE: Name = MD.name("AttributeConsumingService");
pub(super) const REQUESTED_ATTRIBUTE: Name = MD.name("RequestedAttribute");
pub(super) const SINGLE_LOGOUT_SERVICE: Name = MD.name("SingleLogoutService");
pub(super) const SINGLE_SIGN_ON_SERVICE: Name = MD.name("SingleSignOnService");
pub(super) const NAME_ID_FORMAT: Name = MD.name("NameIDFormat");
pub(super) const ORGANIZATION: Name = MD.name("Organization");
pub(super) const ORGANIZATION_DISPLAY_NAME: Name = MD.name("OrganizationDisplayName");

pub(super) const DIGEST_METHOD: Name = ALG.name("DigestMethod");
pub(super) const SIGNING_METHOD: Name = ALG.name("SigningMethod");

pub(super) const UI_INFO: Name = MDUI.name("UIInfo");
pub(super) const DISPLAY_NAME: Name = MDUI.name("DisplayName");
pub(super) const LANG: Name = XML.name("lang");

pub(super) const KEY_INFO: Name = DSIG.name("KeyInfo");
pub(super) const X509_DATA: Name = DSIG.name("X509Data");
pub(super) const X509_CERTIFICATE: Name = DSIG.name("X509Certificate");
