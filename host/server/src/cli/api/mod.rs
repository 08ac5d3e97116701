//! A command for each operation of the admin API, created from its OpenAPI document: a new route is a new command, with
//! the operationId as its name. The commands are ordinary clients, so checks, roles and the audit log are the same.

mod arguments;
mod call;
mod columns;
pub mod connection;
mod document;
mod exchange;
mod listing;
mod lookup;
mod show;

use call::{OperationCall, save};
use clap::{ArgMatches, FromArgMatches};
use connection::ConnectionArguments;
use document::{Document, Operation};
use listing::{Listing, Page};
use reqwest::Method;
use serde::Deserialize;
use show::OutputFormat;

use crate::cli::api::arguments::parsed;
use assent_admin_client::error::{CommandError, ErrorKind};
use assent_admin_client::terminal;

/// The commands of the admin API.
pub(super) struct Commands {
    document: Document,
}

impl Commands {
    /// Creates the commands of this version's admin API.
    ///
    /// # Errors
    /// If its document cannot be read.
    pub(super) fn from_document(document: &str) -> anyhow::Result<Self> {
        let document = document::reader::read(document)?;
        Ok(Self { document })
    }

    pub(super) fn add_to(&self, root: clap::Command) -> clap::Command {
        let operations = self.document.operations.iter();
        operations.fold(root, |root, operation| self.with(root, 0, operation))
    }

    /// Adds an operation to the group whose name is the first `depth` bytes of the operation's name. Below it are
    /// groups for the nouns that follow, and the command for the verb.
    fn with(&self, group: clap::Command, depth: usize, operation: &Operation) -> clap::Command {
        let name = operation.name.as_str();
        let rest = name.get(depth..).unwrap_or_default();
        let Some((noun, _)) = rest.split_once('.') else {
            return group.subcommand(arguments::command(rest, operation));
        };
        let depth = depth + noun.len();
        if group.find_subcommand(noun).is_some() {
            return group.mut_subcommand(noun, |group| self.with(group, depth + 1, operation));
        }
        let whole = name.get(..depth).unwrap_or_default();
        let known = self.document.nouns.iter().find(|one| one.name == whole);
        let new = clap::Command::new(noun.to_owned())
            .subcommand_required(true)
            .arg_required_else_help(true)
            .about(
                known
                    .map_or("", |one| one.about.trim_end_matches('.'))
                    .to_owned(),
            );
        group.subcommand(self.with(new, depth + 1, operation))
    }

    /// Runs the command in the arguments. Returns `None` if it is not one of these.
    ///
    /// # Errors
    /// [`CommandError`] with an exit code for the reason.
    pub(super) async fn run(&self, matches: &ArgMatches) -> Option<anyhow::Result<()>> {
        let (operation, matches) = self.find(matches)?;
        Some(run(operation, matches).await)
    }

    fn find<'a>(&self, mut matches: &'a ArgMatches) -> Option<(&Operation, &'a ArgMatches)> {
        let mut words = Vec::new();
        while let Some((word, below)) = matches.subcommand() {
            words.push(word);
            matches = below;
        }
        let name = words.join(".");
        let mut operations = self.document.operations.iter();
        Some((operations.find(|one| one.name == name)?, matches))
    }

    /// Returns each operation's name with its method and path, such as `users.list` and `GET /users`.
    pub(super) fn table(&self) -> Vec<(String, String)> {
        let operations = self.document.operations.iter();
        operations
            .map(|operation| (operation.name.clone(), operation.title()))
            .collect()
    }
}

async fn run(operation: &Operation, matches: &ArgMatches) -> anyhow::Result<()> {
    let connection = ConnectionArguments::from_arg_matches(matches)?;
    let mut arguments = parsed::read(operation, matches)?;
    if operation.is_irreversible && !arguments.yes && !terminal::is_interactive() {
        return Err(CommandError::usage(
            "confirmation is not possible without a terminal; use --yes to confirm",
        ));
    }
    let api = connection.api().await?;
    lookup::resolve(&api, operation, &mut arguments).await?;
    let call = OperationCall {
        api,
        operation,
        arguments,
    };
    let version = call.read_and_confirm().await?;
    if !operation.answer.is_json() {
        let answer = call.execute(version).await?;
        return save(&call, answer).await;
    }
    let form = OutputFormat::from_arg_matches(matches)?;
    if let Some(paging) = &call.arguments.paging {
        return call.pages(paging, form).await;
    }
    let answer = call.execute(version).await?;
    let bytes = call.api.bytes(answer).await?;
    if bytes.is_empty() {
        if !form.is_quiet() {
            terminal::note(format_args!("{}", operation.answer.description));
        }
        return Ok(());
    }
    if operation.answer.items.is_some() {
        let mut listing = Listing::new(&operation.answer, form);
        let page: Page<'_> = call.api.parse(&bytes)?;
        let shown = listing.page(&page, &bytes, true);
        return result_of(operation, &bytes, shown.and_then(|()| listing.end(None)));
    }
    // A response that is not from the API is reported as such, and not printed.
    let _: &serde_json::value::RawValue = call.api.parse(&bytes)?;
    let shown = match exchange::is(&operation.name) && form.is_text() {
        true => terminal::print(&exchange::text(&operation.name, &bytes)?),
        false => show::show(&operation.answer, form, &bytes),
    };
    result_of(operation, &bytes, shown)?;
    check_rows(&bytes)
}

/// Returns the result of an operation whose response was shown or lost. A lost response fails a request that only
/// reads, or if no other response contains its values.
fn result_of(operation: &Operation, bytes: &[u8], shown: anyhow::Result<()>) -> anyhow::Result<()> {
    if operation.method == Method::GET {
        return shown;
    }
    let is_once = show::has_secret(&operation.answer, bytes);
    terminal::after_work(shown, is_once.then_some("create another one"))
}

/// Fails if rows of a table were rejected. The HTTP response is a success even then, but a script must detect the
/// failure.
fn check_rows(answer: &[u8]) -> anyhow::Result<()> {
    #[derive(Deserialize)]
    struct ImportCounts {
        rows: u64,
        rejected: u64,
    }
    match serde_json::from_slice(answer) {
        Ok(ImportCounts {
            rows,
            rejected: rejected @ 1..,
        }) => Err(CommandError::with_kind(
            ErrorKind::Refused,
            format!("{rejected} of {rows} rows are rejected; the output lists their lines"),
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn commands() -> Commands {
        Commands::from_document(crate::http::admin_api::openapi::text()).expect("the commands")
    }

    fn each_group_has_a_text(command: &clap::Command) {
        for group in command
            .get_subcommands()
            .filter(|one| one.has_subcommands())
        {
            let about = group.get_about().map(ToString::to_string);
            assert!(
                about.is_some_and(|about| !about.is_empty()),
                "{}",
                group.get_name()
            );
            each_group_has_a_text(group);
        }
    }

    #[test]
    fn the_commands_are_consistent_and_each_group_has_a_description() {
        let whole = commands().add_to(crate::cli::Arguments::command());
        each_group_has_a_text(&whole);
        whole.debug_assert();
    }

    #[test]
    fn each_noun_of_the_document_has_an_operation() {
        let Document { nouns, operations } = commands().document;
        for noun in nouns {
            let begins = format!("{}.", noun.name);
            let is_used = operations.iter().any(|one| one.name.starts_with(&begins));
            assert!(is_used, "{} has no operation", noun.name);
        }
    }

    /// The document says whether null removes a member.
    #[test]
    fn exactly_the_nullable_members_can_be_unset() {
        let commands = commands().add_to(crate::cli::Arguments::command());
        let unset = |noun: &str, verb: &str| -> Vec<String> {
            let command = commands
                .find_subcommand(noun)
                .and_then(|group| group.find_subcommand(verb))
                .expect("a command");
            let argument = command
                .get_arguments()
                .find(|argument| argument.get_id() == "unset");
            argument
                .into_iter()
                .flat_map(|one| one.get_possible_values())
                .map(|one| one.get_name().to_owned())
                .collect()
        };
        assert_eq!(
            unset("users", "update"),
            ["console-role", "email", "profile"]
        );
        assert_eq!(unset("groups", "update"), ["description"]);
        assert_eq!(unset("accounts", "update"), ["role"]);
        assert_eq!(unset("users", "create"), [""; 0]);
        let members = [
            "admin-scope",
            "authorization-details-type",
            "authorization-signed-response-alg",
            "backchannel-authentication-request-signing-alg",
            "backchannel-client-notification-endpoint",
            "backchannel-logout-uri",
            "certificate",
            "client-uri",
            "contact",
            "frontchannel-logout-uri",
            "initiate-login-uri",
            "introspection-signed-response-alg",
            "jwks",
            "jwks-uri",
            "logo-uri",
            "policy-uri",
            "post-logout-redirect-uri",
            "public-key",
            "recipe",
            "redirect-uri",
            "request-object-signing-alg",
            "request-uri",
            "second-approver-group",
            "sector-identifier",
            "security-profile",
            "tls-client-auth-san-dns",
            "tls-client-auth-san-email",
            "tls-client-auth-san-ip",
            "tls-client-auth-san-uri",
            "tls-client-auth-subject-dn",
            "token-endpoint-auth-signing-alg",
            "tos-uri",
            "userinfo-signed-response-alg",
            "certificates",
            "custom-attribute",
            "default-relay-state",
            "idp-entity-id",
            "metadata-url",
            "other-name-id-format",
            "relay-state",
            "single-logout",
        ];
        assert_eq!(unset("applications", "update"), members);
    }
}
