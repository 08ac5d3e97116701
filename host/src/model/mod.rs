//! The nouns of the host, and the proofs. Nothing here does input or output.

pub mod account;
pub mod administration;
pub mod application;
pub mod approval;
pub mod audit;
pub mod claims_request;
pub mod client_auth;
pub mod colour;
pub mod delivery;
pub mod device;
pub mod key;
pub mod language;
pub mod login;
pub mod logo;
pub mod logout;
pub mod name;
pub mod palette;
pub mod passkey;
pub mod recovery;
pub mod redirect;
pub mod saml;
pub mod scope;
pub mod session;
pub mod statement;
pub mod token;
pub mod user;
