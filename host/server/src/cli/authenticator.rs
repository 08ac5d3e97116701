//! `assent authenticator`

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Subcommand;

use crate::authenticator::enrolled::{
    Authenticator, PendingBackchannel, PendingRequest, PendingSecondApproval,
};
use crate::authenticator::enrolment::PendingEnrolment;
use crate::authenticator::exchange::NoResponse;
use assent_admin_client::terminal;
use assent_model::approval::MatchingNumber;
use assent_model::id::ApprovalId;
use assent_model::printable::line;

/// The most bytes of a line about a request.
const LONGEST_LINE: usize = 500;

#[derive(Debug, Subcommand)]
pub(super) enum AuthenticatorCommand {
    /// Enrol a device with a link: creates a key and stores it in the file. If the response was lost, the same command
    /// continues. The device has no passkey, which needs a browser and a screen lock.
    Enrol {
        /// The link, as `POST /admin/api/v1/users/{id}/enrolments` or the bootstrap returns it.
        url: String,
        /// The file to create, or that of an earlier attempt with this link. It contains the private key.
        #[arg(long, value_name = "FILE")]
        store: PathBuf,
        /// The device's name.
        #[arg(long, default_value = "Command line")]
        name: String,
        /// A Web Push subscription in JSON, which receives notifications.
        #[arg(long, value_name = "JSON")]
        push: Option<String>,
    },
    /// Decide the pending request, or the next one. If several are pending, specify one with `--request`. A device with
    /// a passkey approves only in its browser.
    #[command(group(clap::ArgGroup::new("decision").required(true).args(["number", "approve", "deny", "report"])))]
    Decide {
        /// The file that `enrol` created.
        #[arg(long, value_name = "FILE")]
        store: PathBuf,
        /// The id of the request, as `list` prints it.
        #[arg(long, value_name = "ID")]
        request: Option<ApprovalId>,
        /// Approve with the number that the browser or the application shows.
        #[arg(long, value_name = "NUMBER", value_parser = matching_number)]
        number: Option<String>,
        /// Approve a request without a number. Specify a back-channel request with `--request`, or its message with
        /// `--message`.
        #[arg(long)]
        approve: bool,
        /// The message that the application shows. A request with another message is not approved.
        #[arg(long, value_name = "TEXT", conflicts_with_all = ["number", "deny", "report"])]
        message: Option<String>,
        /// Deny.
        #[arg(long)]
        deny: bool,
        /// Report: it was not you who began the sign-in. A cooldown begins, in which requests reach none of your
        /// devices.
        #[arg(long)]
        report: bool,
        /// The time to wait for a request, in seconds.
        #[arg(long, default_value_t = 30)]
        wait: u32,
    },
    /// Begin a QR sign-in with the code of a login page. An approval request follows.
    QrSignIn {
        /// The content of the code: a link with `#login=` in it.
        link: String,
        /// The file that `enrol` created.
        #[arg(long, value_name = "FILE")]
        store: PathBuf,
    },
    /// Enter the code that another device shows, to sign in there. An approval request follows
    EnterCode {
        /// The code: eight letters. Case, spaces and hyphens do not matter.
        code: String,
        /// The file that `enrol` created.
        #[arg(long, value_name = "FILE")]
        store: PathBuf,
    },
    /// Print the pending requests, as JSON.
    List {
        /// The file that `enrol` created.
        #[arg(long, value_name = "FILE")]
        store: PathBuf,
    },
}

fn matching_number(text: &str) -> Result<String, &'static str> {
    MatchingNumber::parse_typed(text)
        .map(|number| number.to_string())
        .ok_or(
            "expected the two digits that the browser shows, or the two to four of an application",
        )
}

/// How the user approves a request: with the number that the browser or the application shows, or after a look at the
/// request itself.
enum Confirmation {
    Number(String),
    /// `is_named`: whether the user named the request or its message.
    Approve {
        is_named: bool,
    },
}

/// Returns the number of an approval; empty for a request without a number, and `None` to deny.
fn number_of_approval(
    request: &PendingRequest,
    given: Option<Confirmation>,
) -> anyhow::Result<Option<String>> {
    Ok(match (request.has_number(), given) {
        (_, None) => None,
        (false, Some(Confirmation::Number(_))) => {
            bail!("the request has no number; approve it with --approve")
        }
        (true, Some(Confirmation::Approve { .. })) => {
            bail!(
                "the browser or the application shows a number; approve the request with --number"
            )
        }
        // The next request may be another one than the user expects.
        (false, Some(Confirmation::Approve { is_named: false }))
            if request.backchannel.is_some() || request.second_approval.is_some() =>
        {
            bail!(
                "compare the request above with the application; then specify it with --request {}, or its message \
                 with --message",
                request.id
            )
        }
        (false, Some(Confirmation::Approve { .. })) => Some(String::new()),
        (true, Some(Confirmation::Number(number))) => Some(number),
    })
}

/// Whether a pending request is a back-channel request with this message.
fn has_message(request: &PendingRequest, message: &str) -> bool {
    let own = request.backchannel.as_ref();
    let own = own.and_then(|shown| shown.message.as_deref());
    let second = request.second_approval.as_ref();
    let second = second.and_then(|shown| shown.message.as_deref());
    own.or(second) == Some(message)
}

/// Prints what an approval of a back-channel request permits: the application, the account, the message, the scopes and
/// the authorization details.
fn print_backchannel(request: &PendingRequest, shown: &PendingBackchannel) {
    let plain = |text: &str| line(text, LONGEST_LINE);
    terminal::report_line(format_args!(
        "{} asks for {}.",
        plain(&request.application.name),
        plain(&request.account)
    ));
    match &shown.message {
        Some(message) => terminal::report_line(format_args!("Message: {}", plain(message))),
        None if request.has_number() => {}
        None => terminal::report_line(format_args!("The application sent no message.")),
    }
    for scope in &shown.scopes {
        terminal::report_line(format_args!("  {}", plain(scope)));
    }
    print_details(request);
}

/// Prints what a second approval permits, and for whom the application asks.
fn print_second(request: &PendingRequest, shown: &PendingSecondApproval) {
    let plain = |text: &str| line(text, LONGEST_LINE);
    terminal::report_line(format_args!(
        "{} asks for {}, and needs your approval too.",
        plain(&request.application.name),
        plain(&shown.first)
    ));
    match &shown.message {
        Some(message) => terminal::report_line(format_args!("Message: {}", plain(message))),
        None => terminal::report_line(format_args!("The application sent no message.")),
    }
    for scope in &shown.scopes {
        terminal::report_line(format_args!("  {}", plain(scope)));
    }
    print_details(request);
}

/// Prints the authorization details of a request.
fn print_details(request: &PendingRequest) {
    for detail in &request.details {
        // A terminal shows the isolates of values as characters.
        let detail = detail.replace(['\u{2068}', '\u{2069}'], "");
        let detail = assent_model::printable::lines(&detail);
        terminal::report_line(format_args!("  {detail}"));
    }
}

/// Prints the outcome of a decision, with its subject and the details of the request.
fn print_outcome(request: &PendingRequest, outcome: &str) {
    let PendingRequest {
        account,
        application,
        browser,
        ..
    } = request;
    let name = &application.name;
    if let Some(action) = &request.action {
        let action = assent_model::printable::lines(action);
        terminal::report_line(format_args!("{outcome}: {account}: {action}"));
    } else if request.caller_check.is_some() {
        terminal::report_line(format_args!(
            "{outcome}: whether {account} is on the phone with {name}"
        ));
    } else if browser.is_empty() {
        terminal::report_line(format_args!("{outcome}: {account} for {name}"));
    } else {
        terminal::report_line(format_args!("{outcome}: {account} on {browser} for {name}"));
    }
    // Those of a back-channel request are above.
    if request.backchannel.is_none() && request.second_approval.is_none() {
        print_details(request);
    }
}

pub(super) async fn run(command: AuthenticatorCommand) -> anyhow::Result<()> {
    match command {
        AuthenticatorCommand::Enrol {
            url,
            store,
            name,
            push,
        } => {
            let push = push
                .map(|text| serde_json::from_str(&text))
                .transpose()
                .context("--push is not a subscription")?;
            // The file has the key before the link is used, because the link is valid only once.
            let pending = PendingEnrolment::begin(&url, &store).await?;
            let authenticator = match pending.send(&url, &name, push).await {
                Ok(authenticator) => authenticator,
                Err(error) if error.is::<NoResponse>() => {
                    return Err(error.context(format!(
                        "the device may be enrolled; run the same command again, because {} has its key",
                        store.display()
                    )));
                }
                Err(error) => {
                    std::fs::remove_file(&store)?;
                    return Err(error);
                }
            };
            authenticator.replace(&store)?;
            terminal::report_line(format_args!(
                "Enrolled for {} at {}.",
                authenticator.account(),
                authenticator.issuer()
            ));
        }
        AuthenticatorCommand::Decide {
            store,
            request,
            number,
            approve,
            message,
            deny: _,
            report,
            wait,
        } => {
            let authenticator = Authenticator::load(&store)?;
            let mut requests = authenticator.waiting(wait).await?;
            if let Some(id) = request {
                requests.retain(|pending| pending.id == id);
            }
            if let Some(message) = &message {
                requests.retain(|pending| has_message(pending, message));
            }
            let is_named = request.is_some() || message.is_some();
            let request = match requests.as_slice() {
                [request] => request,
                [] => bail!("no such request is pending"),
                several => bail!(
                    "{} requests are pending; specify one with --request",
                    several.len()
                ),
            };
            if let Some(shown) = &request.backchannel {
                print_backchannel(request, shown);
            }
            if let Some(shown) = &request.second_approval {
                print_second(request, shown);
            }
            let given = match number {
                Some(number) => Some(Confirmation::Number(number)),
                None => approve.then_some(Confirmation::Approve { is_named }),
            };
            let number = number_of_approval(request, given)?;
            let outcome = match report {
                true => authenticator.report(request).await?,
                false => authenticator.decide(request, number.as_deref()).await?,
            };
            print_outcome(request, &outcome);
        }
        AuthenticatorCommand::QrSignIn { link, store } => {
            let authenticator = Authenticator::load(&store)?;
            let preview = authenticator.preview_login(&link).await?;
            authenticator.scan(&link).await?;
            terminal::report_line(format_args!(
                "Signing in to {} on {}, {}.",
                preview.application, preview.browser, preview.place
            ));
        }
        AuthenticatorCommand::EnterCode { code, store } => {
            let authenticator = Authenticator::load(&store)?;
            let request = authenticator.enter_code(&code).await?;
            terminal::report_line(format_args!("Entered. Decide the request {request}."));
        }
        AuthenticatorCommand::List { store } => {
            let requests = Authenticator::load(&store)?.waiting(0).await?;
            let requests = serde_json::to_string_pretty(&requests)?;
            terminal::print(&format!("{requests}\n"))?;
        }
    }
    Ok(())
}
