//! The integration tests, in one binary: a running host with the real components, on both databases.

mod admin;
mod admin_api;
mod app;
mod audit;
mod authenticator_api;
mod channels;
mod clients;
mod commands;
mod console;
mod edge;
mod faults;
mod glossary;
mod javascript;
mod keys;
mod lan;
mod life;
mod login;
mod oidc;
mod pages;
mod passkeys;
mod plugins;
mod portal;
mod programs;
mod push;
mod qr_sign_in;
mod returning;
mod saml;
mod secrets;
pub mod store;
mod tidy;
mod upkeep;

use assent_tests::harness;
