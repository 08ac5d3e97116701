//! The receipt of an approval in a file.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use assent_model::receipt::content::ReceiptSubject;
use assent_model::receipt::verification::{Proof, Receipt, ReceiptKeySet};
use assent_model::statement::Decision;

/// A new file, which gets its name only with a valid receipt.
pub(super) struct ReceiptFile {
    file: File,
    part: PathBuf,
    path: PathBuf,
}

impl ReceiptFile {
    /// Creates the file under another name, so that a mistake is found before the user is asked. Only its owner may
    /// read it.
    pub(super) fn create(path: &Path) -> anyhow::Result<Self> {
        let shown = || path.display().to_string();
        ensure!(
            !path.exists(),
            "{}: the file exists; name another one",
            shown()
        );
        let name = path.file_name().with_context(shown)?;
        let part = format!(".{}.{}.part", name.display(), std::process::id());
        let part = path.with_file_name(part);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&part)
            .with_context(shown)?;
        Ok(Self {
            file,
            part,
            path: path.to_owned(),
        })
    }

    /// Writes the receipt, and gives the file its name.
    pub(super) fn write(mut self, receipt: &str) -> anyhow::Result<()> {
        let written = writeln!(self.file, "{receipt}")
            .and_then(|()| self.file.sync_all())
            .and_then(|()| std::fs::rename(&self.part, &self.path));
        written.with_context(|| self.path.display().to_string())
    }
}

impl Drop for ReceiptFile {
    fn drop(&mut self) {
        // After a success it has its other name.
        let _ = std::fs::remove_file(&self.part);
    }
}

/// What the receipt must be about.
pub(super) struct ExpectedReceipt<'a> {
    /// The issuer's URL.
    pub(super) issuer: &'a str,
    /// The client ID.
    pub(super) application: &'a str,
    /// The identifier of the request.
    pub(super) id: &'a str,
    /// The message that the device showed.
    pub(super) message: &'a str,
}

/// Verifies all signatures of a receipt, and that it is the approval of this question.
///
/// # Errors
/// If a signature is invalid, or the receipt is about something else.
pub(super) fn verify(
    text: &str,
    keys: &ReceiptKeySet,
    expected: &ExpectedReceipt<'_>,
) -> anyhow::Result<()> {
    let receipt = Receipt::parse(text)?;
    let proof = receipt.verify(keys)?;
    let content = receipt.content();
    let request = &content.request;
    let application = request.application.as_ref();
    let is_same = content.iss == expected.issuer
        && request.id.to_string() == expected.id
        && request.kind == ReceiptSubject::Backchannel
        && application.is_some_and(|id| id.as_str() == expected.application);
    ensure!(is_same, "it is the receipt of another request");
    ensure!(
        content.decision == Decision::Approve,
        "it is not the receipt of an approval"
    );
    let signed = match &proof {
        Proof::Device(signed) | Proof::DeviceAndPasskey(signed) => signed,
        Proof::NoDeviceSignature | Proof::Passkey => {
            bail!("no device signed the message")
        }
    };
    let message = signed.values.iter().find(|(name, _)| name == "message");
    let message = message.and_then(|(_, value)| Value::as_str(value));
    ensure!(
        message == Some(expected.message),
        "the device signed another message"
    );
    Ok(())
}
