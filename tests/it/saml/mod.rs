//! SAML, against the programs that others use for it.

mod canonical;
mod documents;
mod metadata;
mod party;
mod schema;
mod sign_on;
mod xmlsec;
