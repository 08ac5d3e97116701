//! An enrolled authenticator, as its file holds it, and what it is told.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use assent_model::id::{ApprovalId, DeviceId};

/// An enrolled authenticator: what its file holds.
#[derive(Serialize, Deserialize)]
pub struct Authenticator {
    pub(super) origin: String,
    pub(super) issuer: String,
    pub(super) device: DeviceId,
    pub(super) account: String,
    /// PEM.
    pub(super) private_key: String,
}

/// A request that waits for the person, as the server tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingRequest {
    /// The approval.
    pub id: ApprovalId,
    /// The application that asks.
    pub application: Application,
    /// The name that was typed in the browser.
    pub account: String,
    /// Where the browser seems to be.
    pub place: String,
    /// The browser and operating system.
    pub browser: String,
    /// The summary of the protected action, if the request is not about a sign-in.
    #[serde(default)]
    pub action: Option<String>,
    /// Until when it is good, in seconds since the epoch.
    pub expires_at: i64,
    /// How often a number may still be typed.
    pub attempts_left: u32,
}

/// A login whose code was scanned, before anything is said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginLook {
    /// The name of the application that asks.
    pub application: String,
    /// Where the browser seems to be.
    pub place: String,
    /// The browser and operating system.
    pub browser: String,
}

/// The application that asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Application {
    /// Its identifier.
    pub id: String,
    /// Its name.
    pub name: String,
}

impl std::fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authenticator")
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}

impl Authenticator {
    /// Makes the file that an authenticator is kept in, for its owner alone. There must be none yet.
    pub fn new_file(path: &Path) -> anyhow::Result<File> {
        let made = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path);
        made.with_context(|| format!("cannot make {}; name another file", path.display()))
    }

    /// Keeps the authenticator in a file.
    pub fn save(&self, file: &mut File) -> anyhow::Result<()> {
        file.write_all(serde_json::to_string_pretty(self)?.as_bytes())
            .context("cannot write the file")
    }

    /// Reads the file that [`Self::save`] made.
    pub fn load(file: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        serde_json::from_str(&text)
            .with_context(|| format!("{} was not made by `authenticator enrol`", file.display()))
    }
}
