//! `assent ask`: asks a user for an approval, for example in a step of a deployment.

mod client;
mod credentials;
mod evidence;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use serde_json::{Map, Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;

use crate::cli::receipts::key_set;
use crate::config::HumanDuration;
use assent_admin_client::terminal;
use client::{AcceptedRequest, Approval, CallError, Client, Poll, Question};
use credentials::Credentials;
use evidence::{ExpectedReceipt, ReceiptFile};

/// The exit code of an error, and of wrong arguments.
pub(super) const ERROR: u8 = 3;
/// The addition to the interval for each `slow_down` (OpenID CIBA Core 1.0 section 11).
const SLOWER: Duration = Duration::from_secs(5);
/// The longest time between two attempts while the server cannot be reached.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The time after the expiry in which the server still returns the result.
const LATE: Duration = Duration::from_secs(60);

/// Ask a user for an approval on their device, and wait for it.
///
/// For deployments and scripts: the device shows the message, and signs it. The file with the credentials of the
/// application has the members `issuer`, `client_id` and `client_secret` in TOML, and permissions only for its owner.
/// Exit codes: 0 approved; 1 denied; 2 expired; 3 any error, also wrong arguments and Ctrl-C, which withdraws the
/// request.
#[derive(Debug, Args)]
pub(super) struct Ask {
    /// The user's name or email address.
    #[arg(long, value_name = "NAME")]
    user: String,
    /// The message that the device shows: one line of up to 100 characters.
    #[arg(long, value_name = "TEXT")]
    message: String,
    /// How long the user may take, such as `10m`: from `10s` to `10m`. The default is that of the server.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    expires: Option<Duration>,
    /// The file with the credentials of the application. The default is `assent/ask.toml` in `XDG_CONFIG_HOME`, or in
    /// `~/.config`.
    #[arg(long, value_name = "FILE")]
    credentials: Option<PathBuf>,
    /// Write the receipt to this new file, after its verification.
    #[arg(long, value_name = "FILE")]
    receipt: Option<PathBuf>,
    /// Print the outcome as JSON.
    #[arg(long)]
    json: bool,
}

fn duration(text: &str) -> Result<Duration, String> {
    let read: Result<HumanDuration, _> = serde_json::from_value(Value::from(text));
    read.map(HumanDuration::get)
        .map_err(|error| error.to_string())
}

/// The end of a request.
enum Outcome {
    /// The user approved. The receipt has this identifier.
    Approved(Option<String>),
    Denied,
    Expired,
    /// The caller withdrew the request.
    Cancelled,
}

impl Outcome {
    const fn name(&self) -> &'static str {
        match self {
            Self::Approved(_) => "approved",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
        }
    }

    const fn code(&self) -> u8 {
        match self {
            Self::Approved(_) => 0,
            Self::Denied => 1,
            Self::Expired => 2,
            Self::Cancelled => ERROR,
        }
    }
}

/// The signals that withdraw a request: Ctrl-C, and the end of the job that asks.
struct Interruption {
    interrupt: Signal,
    terminate: Signal,
}

impl Interruption {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

pub(super) async fn run(arguments: Ask) -> ExitCode {
    let json = arguments.json;
    let (outcome, code) = match ask(&arguments).await {
        Ok(outcome) => {
            let mut members = Map::new();
            members.insert("outcome".to_owned(), json!(outcome.name()));
            if let Outcome::Approved(Some(id)) = &outcome {
                members.insert("receipt_id".to_owned(), json!(id));
            }
            if !json {
                terminal::report_line(outcome.name());
            }
            (members, outcome.code())
        }
        Err(error) => {
            let call = error.downcast_ref::<CallError>();
            let message = assent_model::printable::lines(&format!("{error:#}"));
            terminal::note(format_args!("assent: {message}"));
            let members = json!({
                "outcome": "error",
                "error": call.map_or("failed", CallError::code),
                "message": message,
            });
            (members.as_object().cloned().unwrap_or_default(), ERROR)
        }
    };
    if json {
        let text = Value::Object(outcome).to_string();
        terminal::report_line(terminal::harmless_json(&text));
    }
    ExitCode::from(code)
}

async fn ask(arguments: &Ask) -> anyhow::Result<Outcome> {
    let mut interruption = Interruption::listen()?;
    let credentials = match &arguments.credentials {
        Some(path) => Credentials::read(path)?,
        None => Credentials::read(&credentials::default_path()?)?,
    };
    let file = arguments.receipt.as_deref().map(ReceiptFile::create);
    let file = file.transpose()?;
    let client = Client::discover(credentials).await?;
    let question = Question {
        user: &arguments.user,
        message: &arguments.message,
        expires: arguments.expires,
    };
    // An interruption in the meantime counts once the request is known, so that it can be withdrawn.
    let request = client.begin(&question).await?;
    terminal::note(format_args!(
        "Waiting up to {} s for {} to approve: {}",
        request.lifetime().as_secs(),
        terminal::harmless(question.user),
        terminal::harmless(question.message)
    ));
    if let Some(number) = &request.binding_number {
        terminal::note(format_args!(
            "The user types this number on the device: {}",
            terminal::harmless(number)
        ));
    }
    let approval = match wait(&client, &request, &mut interruption).await {
        Ok(Ended::Approved(approval)) => approval,
        Ok(Ended::Otherwise(outcome)) => return Ok(outcome),
        Err(error) => {
            // The user should not answer a request whose answer is not needed.
            let _ = client.withdraw(&request).await;
            return Err(error);
        }
    };
    if let Err(error) = client.discard(&approval).await {
        terminal::note(format_args!(
            "note: the access token was not revoked: {}",
            terminal::harmless(&error.to_string())
        ));
    }
    if let (Some(file), Some(path)) = (file, arguments.receipt.as_deref()) {
        store(&client, &question, &approval, file)
            .await
            .with_context(|| unstored(path, &approval))?;
    }
    Ok(Outcome::Approved(approval.receipt_id))
}

/// The end of the wait for an answer.
enum Ended {
    Approved(Approval),
    Otherwise(Outcome),
}

/// Polls until the user answered, the request expired, or the caller withdraws it.
async fn wait(
    client: &Client,
    request: &AcceptedRequest,
    interruption: &mut Interruption,
) -> anyhow::Result<Ended> {
    let deadline = Instant::now() + request.lifetime() + LATE;
    let mut interval = request.interval();
    let mut pause = interval;
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = interruption.wait() => {
                client.withdraw(request).await.context(
                    "the request was not withdrawn; it stays on the devices until it expires",
                )?;
                return Ok(Ended::Otherwise(Outcome::Cancelled));
            }
        }
        let is_late = Instant::now() >= deadline;
        pause = match client.poll(request).await {
            Ok(Poll::Approved(approval)) => return Ok(Ended::Approved(approval)),
            Ok(Poll::Denied) => return Ok(Ended::Otherwise(Outcome::Denied)),
            Ok(Poll::Expired) => return Ok(Ended::Otherwise(Outcome::Expired)),
            Ok(Poll::Pending | Poll::SlowDown) if is_late => {
                return Ok(Ended::Otherwise(Outcome::Expired));
            }
            Ok(Poll::Pending) => interval,
            Ok(Poll::SlowDown) => {
                interval += SLOWER;
                interval
            }
            Err(error) if error.is_transient() && !is_late => {
                terminal::note(format_args!(
                    "note: {}; trying again",
                    terminal::harmless(&error.to_string())
                ));
                interval.max((pause * 2).min(LONGEST_PAUSE))
            }
            Err(error) => return Err(error.into()),
        };
    }
}

/// Fetches the receipt, verifies it, and writes it to its file.
async fn store(
    client: &Client,
    question: &Question<'_>,
    approval: &Approval,
    file: ReceiptFile,
) -> anyhow::Result<()> {
    let id = approval
        .receipt_id
        .as_deref()
        .context("the server keeps no receipts: see the setting receipts.retention")?;
    let (text, keys) = client.receipt(id).await?;
    let keys = key_set(&keys).await?;
    let expected = ExpectedReceipt {
        issuer: client.issuer(),
        application: client.id(),
        id,
        message: question.message,
    };
    evidence::verify(&text, &keys, &expected).context("the receipt is not valid")?;
    file.write(&text)
}

fn unstored(path: &Path, approval: &Approval) -> String {
    let id = approval.receipt_id.as_deref().unwrap_or("none");
    format!(
        "the user approved, but there is no valid receipt in {} (receipt {id})",
        path.display()
    )
}
