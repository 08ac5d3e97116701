//! SAML, against the programs that others use for it.

mod canonical;
mod documents;
mod metadata;
mod partners;
mod party;
mod refresh;
mod schema;
mod sign_on;
mod xmlsec;
