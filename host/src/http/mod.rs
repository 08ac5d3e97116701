//! The edge: extract, call, render. Handlers decide nothing.

pub mod admin_api;
pub mod assets;
pub mod authenticator;
mod console;
mod context;
mod cookies;
mod csrf;
mod health;
mod home;
mod login;
mod oidc;
pub mod pages;
mod problem;
mod reply;
mod router;
mod serve;
mod session_end;
mod user_agent;

pub use router::router;
pub use serve::serve;
