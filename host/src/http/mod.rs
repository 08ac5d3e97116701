//! The edge: extract, call, render. Handlers decide nothing.

pub mod admin_api;
mod answer;
pub mod assets;
pub mod authenticator;
mod callbacks;
pub mod client_calls;
pub mod client_certificate;
mod consent;
mod console;
mod context;
mod cookies;
mod cors;
mod csrf;
mod health;
mod home;
mod layout;
mod limits;
mod login;
mod looks;
mod metrics;
mod oidc;
pub mod pages;
mod problem;
mod reply;
mod router;
mod saml;
mod saml_logout;
mod saml_metadata;
mod script_texts;
mod serve;
mod session_end;
pub mod texts;
pub mod tls;
mod user_agent;

pub use router::{mtls_router, router};
pub use serve::{Listener, serve};
