//! `assent receipts`

use std::fmt::Write;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::Subcommand;
use serde::Deserialize;
use url::Url;

use crate::cli::trusted_address::is_trusted;
use assent_admin_client::terminal;
use assent_model::printable;
use assent_model::receipt::content::{
    ReceiptAnswer, ReceiptContent, ReceiptDevice, ReceiptSubject,
};
use assent_model::receipt::verification::{IssuerKeyState, LONGEST, Proof, Receipt, ReceiptKeySet};
use assent_model::statement::Decision;

/// The timeout of the request for a key set.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The largest file, in bytes: a receipt in the JSON of the admin API.
const LARGEST: u64 = LONGEST as u64 + 64 * 1024;

#[derive(Debug, Subcommand)]
pub(super) enum ReceiptsCommand {
    /// Verify a receipt, and print what its signatures prove and what the server only states.
    ///
    /// Needs no server and no settings. The exit code is 0 only if all signatures are valid: that of the issuer, and
    /// those of the device. It is 1 if the issuer revoked its key, because the signature proves nothing by itself then.
    Verify {
        /// The file with only the receipt, or with the JSON of `assent receipts show --json`; `-` is standard input.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The receipt keys of the issuer: a file that was saved from /oidc/receipts/keys, or that URL of an issuer
        /// that you trust. Without it, the signature of the issuer is not verified, and the exit code is 1.
        #[arg(long, value_name = "FILE|URL")]
        keys: Option<String>,
    },
}

pub(super) async fn run(command: ReceiptsCommand) -> anyhow::Result<ExitCode> {
    let ReceiptsCommand::Verify { file, keys } = command;
    let text = receipt_text(&read(&file)?)?;
    let receipt = Receipt::parse(&text).context("the receipt is not valid")?;
    let keys = match keys {
        Some(place) => Some(key_set(&place).await?),
        None => None,
    };
    let by_issuer = keys.map(|keys| receipt.verify_issuer(&keys));
    let by_issuer = by_issuer.transpose().context("the receipt is not valid")?;
    let proof = receipt.verify_proof().context("the receipt is not valid")?;
    let report = describe(&receipt, &proof, by_issuer)?;
    terminal::report(printable::lines(&report));
    match by_issuer {
        Some(IssuerKeyState::Valid) => Ok(ExitCode::SUCCESS),
        Some(IssuerKeyState::Revoked { at }) => bail!(
            "the issuer revoked the key {} at {}: accept the receipt only if the digest above is `detail.receipt` of \
             an entry in the audit log",
            receipt.key_id(),
            time_text(at)
        ),
        None => bail!(
            "the signature of the issuer was not verified: pass the receipt keys with --keys, for example \
             {}/receipts/keys",
            receipt.content().iss
        ),
    }
}

fn read(file: &Path) -> anyhow::Result<String> {
    let name = || file.display().to_string();
    let mut bytes = Vec::new();
    if file.as_os_str() == "-" {
        let input = std::io::stdin().lock();
        input.take(LARGEST + 1).read_to_end(&mut bytes)?;
    } else {
        let opened = std::fs::File::open(file).with_context(name)?;
        let mut limited = opened.take(LARGEST + 1);
        limited.read_to_end(&mut bytes).with_context(name)?;
    }
    ensure!(
        bytes.len() as u64 <= LARGEST,
        "{}: the file is too large for a receipt",
        name()
    );
    String::from_utf8(bytes).with_context(name)
}

/// Returns the receipt in a file: the text without the line feed at its end, or the member of the JSON of the admin
/// API.
fn receipt_text(content: &str) -> anyhow::Result<String> {
    #[derive(Deserialize)]
    struct Shown {
        receipt: String,
    }
    if content.trim_start().starts_with('{') {
        let shown: Shown = serde_json::from_str(content)
            .context("the file is JSON, but not a receipt of the admin API")?;
        return Ok(shown.receipt);
    }
    let text = content.strip_suffix('\n').unwrap_or(content);
    Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
}

/// Reads receipt keys from a file, or from the URL of an issuer.
///
/// # Errors
/// If they cannot be read, or the URL has no https.
pub(super) async fn key_set(place: &str) -> anyhow::Result<ReceiptKeySet> {
    let json = match Url::parse(place) {
        Ok(url) if matches!(url.scheme(), "https" | "http") => fetch(&url).await?,
        _ => read(Path::new(place))?,
    };
    ReceiptKeySet::parse(json.as_bytes()).with_context(|| place.to_owned())
}

async fn fetch(url: &Url) -> anyhow::Result<String> {
    ensure!(
        is_trusted(url),
        "{url}: use https, because anyone could change keys on the way"
    );
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(TIMEOUT)
        .build()?;
    let answer = client.get(url.clone()).send().await?;
    let status = answer.status();
    ensure!(
        status.is_success(),
        "{url} answered with the status {status}"
    );
    Ok(answer.text().await?)
}

/// Returns the report about a valid receipt.
fn describe(
    receipt: &Receipt,
    proof: &Proof,
    by_issuer: Option<IssuerKeyState>,
) -> anyhow::Result<String> {
    let content = receipt.content();
    let mut text = String::new();
    writeln!(text, "{}", headline(content, proof))?;
    let (issuer, key) = (&content.iss, receipt.key_id());
    if let Some(IssuerKeyState::Revoked { at }) = by_issuer {
        writeln!(
            text,
            "\nNot proved:\n  The key {key} of {issuer} signed this receipt. The issuer revoked it at {}, so another \
             party may have signed.",
            time_text(at)
        )?;
    }
    writeln!(text, "\nProved:")?;
    if by_issuer == Some(IssuerKeyState::Valid) {
        writeln!(text, "  {issuer} signed this receipt with the key {key}.")?;
    }
    match proof {
        Proof::NoDeviceSignature => writeln!(text, "  No device signature.")?,
        Proof::Passkey => {
            writeln!(
                text,
                "  The passkey of the device signed a challenge at this issuer, after user verification. \
                 It signed no text."
            )?;
        }
        Proof::Device(_) | Proof::DeviceAndPasskey(_) => {
            writeln!(text, "  The key of the device signed this text:")?;
        }
    }
    if let ReceiptAnswer::Device { statement, .. } = &content.answer {
        for line in statement.lines() {
            writeln!(text, "    {line}")?;
        }
    }
    if let Proof::DeviceAndPasskey(_) = proof {
        writeln!(
            text,
            "  The passkey of the device signed a challenge for this text, after user verification."
        )?;
    }
    writeln!(text, "\nStated by the server only:")?;
    state(&mut text, content)?;
    writeln!(
        text,
        "\nDigest in the audit log: {}",
        receipt.digest().to_text()
    )?;
    Ok(text)
}

fn headline(content: &ReceiptContent, proof: &Proof) -> String {
    let decision = match content.decision {
        Decision::Approve => "approved",
        Decision::Deny => "denied",
        Decision::Report => "reported",
    };
    let kind = match content.request.kind {
        ReceiptSubject::SignIn => "sign-in",
        ReceiptSubject::Action => "protected action",
        ReceiptSubject::Backchannel => "back-channel request",
        ReceiptSubject::DeviceAuthorization => "sign-in on another device",
        ReceiptSubject::SecondApproval => "second approval of a back-channel request",
        ReceiptSubject::CallerCheck => "check of a caller",
    };
    let by = match proof {
        Proof::NoDeviceSignature => "a vendor's channel, no device signature",
        Proof::Device(_) => "a device",
        Proof::DeviceAndPasskey(_) => "a device with its passkey",
        Proof::Passkey => "a passkey",
    };
    format!("A {kind}, {decision} by {by}.")
}

/// Writes the statements that no signature of the device proves.
fn state(text: &mut String, content: &ReceiptContent) -> anyhow::Result<()> {
    let (user, request) = (&content.user, &content.request);
    writeln!(text, "  User: {} ({})", user.name, user.id)?;
    match &content.answer {
        ReceiptAnswer::Channel { channel } => writeln!(
            text,
            "  The vendor decided, according to the approval channel {channel}."
        )?,
        ReceiptAnswer::Device { device, .. } => {
            state_device(text, device)?;
            // The server delivers the code of the web authenticator.
            writeln!(
                text,
                "  The authenticator showed this text, and the user decided so."
            )?;
        }
        ReceiptAnswer::Passkey { device, .. } => state_device(text, device)?,
    }
    match &request.application {
        Some(application) => writeln!(text, "  Application: {application}")?,
        None => writeln!(text, "  Application: the pages of the issuer")?,
    }
    writeln!(
        text,
        "  Request: {}, at {}",
        request.id,
        time_text(request.requested_at)
    )?;
    writeln!(text, "  Answer received: {}", time_text(content.decided_at))?;
    Ok(())
}

fn state_device(text: &mut String, device: &ReceiptDevice) -> anyhow::Result<()> {
    let (name, id) = (&device.name, device.id);
    let enrolled = time_text(device.enrolled_at);
    writeln!(
        text,
        "  The key belongs to the user's device {name} ({id}), enrolled at {enrolled}."
    )?;
    Ok(())
}

fn time_text(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).map_or_else(|_| seconds.to_string(), |at| at.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_is_read_from_its_text_or_from_the_admin_api() {
        for content in [
            "a.b.c",
            "a.b.c\n",
            "a.b.c\r\n",
            r#"{"id": "1", "receipt": "a.b.c"}"#,
        ] {
            assert_eq!(receipt_text(content).expect("a receipt"), "a.b.c");
        }
        assert_eq!(receipt_text(" a.b.c\n\n").expect("a text"), " a.b.c\n");
        assert!(receipt_text("{}").is_err());
    }
}
