//! SAML, against the programs that others use for it.

mod attacks;
mod canonical;
mod documents;
mod failures;
mod logout;
mod party;
mod sign_on;
mod xmlsec;
