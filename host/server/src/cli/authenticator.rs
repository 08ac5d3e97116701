//! `assent authenticator`

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Subcommand;

use crate::authenticator::Authenticator;
use assent_model::approval::MatchingNumber;
use assent_model::id::ApprovalId;

#[derive(Debug, Subcommand)]
pub(super) enum AuthenticatorCommand {
    /// Enrol by a link: makes a key and keeps it in the file. It can have no passkey: that needs a browser and a screen
    /// lock.
    Enrol {
        /// The link, as `POST /admin/api/v1/users/{id}/enrolments` or the first start gives it.
        url: String,
        /// The file to make. It holds the private key.
        #[arg(long, value_name = "FILE")]
        store: PathBuf,
        /// What the device is called.
        #[arg(long, default_value = "Command line")]
        name: String,
        /// A Web Push subscription in JSON, to be woken there.
        #[arg(long, value_name = "JSON")]
        push: Option<String>,
    },
    /// Answer the pending request, or the first one that comes. Where several are pending, name one with `--request`. A
    /// device with a passkey approves only in its browser.
    #[command(group(clap::ArgGroup::new("decision").required(true).args(["number", "deny", "not_me"])))]
    Approve {
        /// The file that `enrol` made.
        #[arg(long, value_name = "FILE")]
        store: PathBuf,
        /// The id of the request to answer, as `list` prints it.
        #[arg(long, value_name = "ID")]
        request: Option<ApprovalId>,
        /// Approve with the number that the browser shows.
        #[arg(long, value_name = "NN", value_parser = two_digits)]
        number: Option<String>,
        /// Deny.
        #[arg(long)]
        deny: bool,
        /// Deny, since it was not you who signed in: for a while requests reach none of your devices.
        #[arg(long)]
        not_me: bool,
        /// How many seconds to wait for a request.
        #[arg(long, default_value_t = 30)]
        wait: u32,
    },
    /// Take the code of a login page: the person signs in there. What follows is a request like any other.
    Scan {
        /// What the code says: a link with `#login=` in it.
        link: String,
        /// The file that `enrol` made.
        #[arg(long, value_name = "FILE")]
        store: PathBuf,
    },
    /// Print the requests that wait, as JSON.
    List {
        /// The file that `enrol` made.
        #[arg(long, value_name = "FILE")]
        store: PathBuf,
    },
}

fn two_digits(text: &str) -> Result<String, &'static str> {
    MatchingNumber::parse(text)
        .map(|number| number.to_string())
        .ok_or("expected the two digits that the browser shows")
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
                .context("--push is no subscription")?;
            // Before the link is used up.
            let mut file = Authenticator::new_file(&store)?;
            let authenticator = match Authenticator::enrol(&url, &name, push).await {
                Ok(authenticator) => authenticator,
                Err(error) => {
                    std::fs::remove_file(&store)?;
                    return Err(error);
                }
            };
            authenticator.save(&mut file)?;
            println!(
                "Enrolled for {} at {}.",
                authenticator.account(),
                authenticator.issuer()
            );
        }
        AuthenticatorCommand::Approve {
            store,
            request,
            number,
            deny: _,
            not_me,
            wait,
        } => {
            let authenticator = Authenticator::load(&store)?;
            let mut requests = authenticator.waiting(wait).await?;
            if let Some(id) = request {
                requests.retain(|pending| pending.id == id);
            }
            let request = match requests.as_slice() {
                [request] => request,
                [] => bail!("no such request is pending"),
                several => bail!(
                    "{} requests are pending; name one with --request",
                    several.len()
                ),
            };
            let outcome = match not_me {
                true => authenticator.not_me(request).await?,
                false => authenticator.decide(request, number.as_deref()).await?,
            };
            println!(
                "{outcome}: {} on {} for {}",
                request.account, request.browser, request.application.name
            );
        }
        AuthenticatorCommand::Scan { link, store } => {
            let authenticator = Authenticator::load(&store)?;
            let look = authenticator.look_at_login(&link).await?;
            authenticator.scan(&link).await?;
            println!(
                "Signing in to {} on {}, {}.",
                look.application, look.browser, look.place
            );
        }
        AuthenticatorCommand::List { store } => {
            let requests = Authenticator::load(&store)?.waiting(0).await?;
            println!("{}", serde_json::to_string_pretty(&requests)?);
        }
    }
    Ok(())
}
