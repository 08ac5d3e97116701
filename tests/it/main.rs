//! The integration tests, in one binary: a running instance with the real components, on both databases.

mod admin;
mod admin_api;
mod audit;
mod authenticator_api;
mod authenticator_app;
mod automatic_return;
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
mod lifecycle;
mod login;
mod mail;
mod migrations;
mod oidc;
mod pages;
mod passkeys;
mod plugins;
mod portal;
mod programs;
mod push;
mod qr_sign_in;
mod retention;
mod same_device;
mod saml;
mod secrets;
pub mod store;
mod tidy;
mod waiting;

use assent_tests::{flows, harness};
