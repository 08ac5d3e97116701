//! Snapshots of the product's behaviour: what clients, administrators and users receive, byte for byte, with times and
//! random values replaced. `expected` has the committed texts. `UPDATE_SNAPSHOTS=1` writes them again:
//! a commit that changes one says why.

mod admin_api;
mod clients;
mod command_line;
mod compare;
mod json;
mod manifests;
mod normalise;
mod pages;
mod summaries;
mod world;

use std::path::{Path, PathBuf};

use crate::harness::read_file;

/// Returns the folder of this module.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("it/snapshots")
}

/// Returns a file of this module. Scripts are read by the running test, so a change of one needs no compilation.
fn file(path: &str) -> String {
    read_file(folder().join(path))
}
