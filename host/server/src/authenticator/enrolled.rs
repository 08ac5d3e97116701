//! An enrolled authenticator in its file, and the data that the server returns to it.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use assent_model::backchannel::BackchannelBinding;
use assent_model::id::{ApprovalId, DeviceId};
use assent_model::text::to_utf8;

/// An enrolled authenticator: the content of its file.
#[derive(Serialize, Deserialize)]
pub struct Authenticator {
    pub(super) origin: String,
    pub(super) issuer: String,
    pub(super) device: DeviceId,
    pub(super) account: String,
    /// The private key, as PEM.
    pub(super) private_key: String,
}

/// A pending request, as the server returns it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingRequest {
    /// The identifier of the approval request.
    pub id: ApprovalId,
    /// The application to which the user signs in.
    pub application: Application,
    /// The user name that was typed in the browser.
    pub account: String,
    /// The approximate location of the browser.
    pub place: String,
    /// The browser and operating system.
    pub browser: String,
    /// The summary of the protected action, if the request is about one.
    #[serde(default)]
    pub action: Option<String>,
    /// The back-channel request, if the request is one of an application without a browser.
    #[serde(default)]
    pub backchannel: Option<PendingBackchannel>,
    /// The sign-in on another device, if the user entered the code of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_authorization: Option<PendingDeviceAuthorization>,
    /// The second approval, if the request is one of an application for another user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_approval: Option<PendingSecondApproval>,
    /// The check of a caller, if the request is the question of a help desk.
    #[serde(default)]
    pub caller_check: Option<PendingCallerCheck>,
    /// The texts of the authorization details that the application asks the user to permit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// The time at which the request expires, in seconds since the epoch.
    pub expires_at: i64,
    /// The number of attempts to type the number that remain.
    pub attempts_left: u32,
}

/// The details of a pending back-channel request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingBackchannel {
    /// The message of the application.
    pub message: Option<String>,
    /// The permissions that an approval gives.
    pub scopes: Vec<String>,
    /// What the user does: compare the message, type digits, or approve with a passkey.
    #[serde(default)]
    pub binding: BackchannelBinding,
}

/// The details of a pending sign-in on another device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingDeviceAuthorization {
    /// The code that the user entered.
    pub user_code: String,
    /// When the other device asked, in seconds since the epoch.
    pub asked_at: i64,
    /// The permissions that an approval gives.
    pub scopes: Vec<String>,
}

/// The details of a pending second approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingSecondApproval {
    /// The account for which the application asks.
    #[serde(rename = "for")]
    pub first: String,
    /// The message of the application.
    pub message: Option<String>,
    /// The permissions that the application gets for that account.
    pub scopes: Vec<String>,
    /// Whether only an approval with a passkey counts.
    pub passkey: bool,
}

/// The details of a pending check of a caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingCallerCheck {
    /// The name of the administrator who asks.
    pub administrator: String,
}

/// The preview of a QR sign-in, before the user accepts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginPreview {
    /// The name of the application to which the user signs in.
    pub application: String,
    /// The approximate location of the browser.
    pub place: String,
    /// The browser and operating system.
    pub browser: String,
}

/// The application to which the user signs in.
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

impl PendingRequest {
    /// Whether the user types the number of a browser or of an application to approve the request.
    pub fn has_number(&self) -> bool {
        match &self.backchannel {
            Some(backchannel) => backchannel.binding == BackchannelBinding::Typed,
            None => self.device_authorization.is_none() && self.second_approval.is_none(),
        }
    }
}

impl Authenticator {
    /// Creates the file of an authenticator, with permissions only for its owner.
    ///
    /// # Errors
    /// If the file exists already or cannot be created.
    pub fn new_file(path: &Path) -> anyhow::Result<File> {
        let made = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path);
        made.with_context(|| format!("cannot create {}; name another file", path.display()))
    }

    /// Writes the authenticator to a new file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, file: &mut File) -> anyhow::Result<()> {
        file.write_all(serde_json::to_string_pretty(self)?.as_bytes())
            .and_then(|()| file.sync_all())
            .context("cannot write the file")
    }

    /// Replaces the file of the pending enrolment. The key is in one of the two at any time.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn replace(&self, path: &Path) -> anyhow::Result<()> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".new");
        let new = path.with_file_name(name);
        // An earlier attempt may have left it.
        std::fs::remove_file(&new).ok();
        self.save(&mut Self::new_file(&new)?)?;
        std::fs::rename(&new, path).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Reads a file that [`Self::save`] wrote.
    ///
    /// # Errors
    /// If the file cannot be read, or its content is not an authenticator.
    pub fn load(file: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read(file)
            .and_then(to_utf8)
            .with_context(|| format!("cannot read {}", file.display()))?;
        serde_json::from_str(&text).with_context(|| {
            format!(
                "{} was not created by `authenticator enrol`",
                file.display()
            )
        })
    }
}
