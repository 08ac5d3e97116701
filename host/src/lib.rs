//! Assent, a passwordless identity provider.
//!
//! The modules are layers: each calls only those below it (`tests/it/tidy.rs` holds that). From the top:
//! `cli` and `app` (composition), `http` (the edge), `oidc` and `saml` (protocols), `domain` (use cases), the adapters
//! `store`, `keys`, `plugins`, `config`, `places`, `sinks`, below them `outgoing` (the way out by HTTP), and at the bottom `model` with the nouns and proofs, which do no input or output.

pub mod app;
pub mod authenticator;
pub mod cli;
pub mod clock;
pub mod config;
pub mod domain;
pub mod entropy;
pub mod http;
pub mod id;
pub mod keys;
pub mod model;
pub mod oidc;
pub mod outgoing;
pub mod places;
pub mod plugins;
pub mod saml;
pub mod secret;
pub mod sinks;
pub mod store;
