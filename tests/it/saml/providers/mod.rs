//! Real service providers that are configured only from the instance's metadata: Debian's `mod_auth_mellon` in a real
//! Apache, SimpleSAMLphp in PHP's own web server, Python's `pysaml2` and npm's `node-saml`. Each signs in, reads the
//! user's attributes, and signs out from either side.

mod journey;
mod mellon;
mod node_saml;
mod pysaml2;
mod server;
mod simplesamlphp;
mod together;

/// The formats of a NameID (SAML core section 8.3).
const EMAIL_ADDRESS: &str = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress";
const PERSISTENT: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";
const TRANSIENT: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient";
const UNSPECIFIED: &str = "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified";

const SUCCESS: &str = "urn:oasis:names:tc:SAML:2.0:status:Success";
