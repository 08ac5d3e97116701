//! The integration tests, in one binary: a running host with the real components, on both databases.

mod admin;
mod channels;
mod clients;
mod commands;
mod edge;
mod javascript;
mod keys;
mod life;
mod login;
mod oidc;
mod plugins;
mod programs;
mod push;
mod saml;
pub mod store;
mod tidy;
mod upkeep;

use assent_tests::harness;
