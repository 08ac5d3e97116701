//! The HTTP interface: handlers extract values, call the domain, and render its result. Handlers decide nothing.

pub mod admin_api;
mod admission;
mod approvals;
pub mod assets;
mod console;
mod context;
mod cookies;
mod csrf;
pub mod devices;
mod fetch_metadata;
mod forwarded;
mod handshake;
mod home;
mod layout;
pub mod oidc;
mod operations;
mod operator_details;
mod outage;
pub mod pages;
mod portal;
mod prebuilt;
mod problem;
mod refusals;
mod reply;
mod request_id;
mod router;
mod saml;
mod script_texts;
mod serve;
pub(crate) mod sign_in;
pub mod texts;
pub mod tls;
mod traced_request;
mod user_agent;

pub use prebuilt::Front;
pub use serve::{Listener, NewConnectionBounds, serve};
