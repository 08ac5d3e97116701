//! SAML, tested with other implementations.

mod applications;
mod attacks;
mod canonical;
mod certificate_forms;
mod claim_map;
mod disabled;
mod documents;
mod failures;
mod imports;
mod keys;
mod lenient_requests;
mod logout;
mod logout_forged;
mod logout_frames;
mod logout_names;
mod logout_principal;
mod metadata;
mod metadata_import;
mod providers;
mod refresh;
mod repeats;
mod schema;
pub mod service_provider;
mod sign_on;
mod unconfirmed;
mod xmlsec;
