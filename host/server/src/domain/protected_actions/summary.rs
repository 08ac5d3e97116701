//! The summary of a protected action, in English: the text that the administrator's device shows and signs.

use super::action::{
    ActionSubject, Authenticators, ImportedTable, ProtectedAccountChange, ProtectedAction,
    ProtectedUserChange,
};
use super::application_summary;
use super::escape::{quoted, shortened};
use assent_model::action_approval::ActionOutline;
use assent_model::clock::Timestamp;
use assent_model::id::Did;
use assent_model::key::SigningAlgorithm;
use assent_model::name::LoginName;
use assent_model::user::{ConsoleRole, User};
use assent_store::{Store, StoreError};

/// How much of an id a summary shows, in characters.
const ID_END: usize = 8;

/// The summary of an action, and what the action concerns.
#[derive(Clone, Debug)]
pub struct Summary {
    /// What happens, and to whom: "Delete the user ada".
    pub text: String,
    /// The user, as the text names them.
    pub user: Option<User>,
    /// The application.
    pub application: Option<Did>,
}

impl Summary {
    /// The kind of this action, and the ids of what it concerns.
    pub fn outline(&self, action: &ProtectedAction) -> ActionOutline {
        ActionOutline {
            kind: action.kind(),
            target_user: self.user.as_ref().map(|user| user.id),
            target_application: self.application.clone(),
        }
    }
}

/// Why an action has no summary.
#[derive(Debug, thiserror::Error)]
pub enum SummaryError {
    /// What the action concerns does not exist any more.
    #[error("there is no such {0}")]
    Gone(&'static str),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

type Result<T> = std::result::Result<T, SummaryError>;

/// Renders the summary of an action with the current names.
///
/// # Errors
/// [`SummaryError::Gone`] if what the action concerns does not exist.
pub async fn summarize(store: &Store, action: &ProtectedAction) -> Result<Summary> {
    let mut names = SubjectNames::default();
    let (user, application) = match action.subject() {
        ActionSubject::Server => (None, None),
        ActionSubject::User(user) => (Some(user), None),
        ActionSubject::Application(application) => (None, Some(application.clone())),
        ActionSubject::UserIn(user, application) => (Some(user), Some(application.clone())),
        ActionSubject::Device(device) => {
            let found = store.device(device).await?;
            let device = found.ok_or(SummaryError::Gone("device"))?;
            // Its holder can change the name, and would end the request to revoke it. The id and the date stay as they
            // are.
            names.device = format!(
                "enrolled on {}, with an id that ends in {}",
                date(device.created_at),
                end_of(&device.id.to_string())
            );
            (Some(device.user_id), None)
        }
        ActionSubject::Account(account) => {
            let found = store.account(account).await?;
            let account = found.ok_or(SummaryError::Gone("account"))?;
            names.account = quoted(&account.name);
            (Some(account.user_id), Some(account.application_id))
        }
    };
    let user = match user {
        Some(id) => {
            let user = store.user(id).await?.ok_or(SummaryError::Gone("user"))?;
            names.user = quoted(user.name.as_str());
            names.since = date(user.created_at);
            names.email = user.email.as_ref().map(ToString::to_string);
            Some(user)
        }
        None => None,
    };
    if let Some(id) = &application {
        let found = store.registered(id).await?;
        let registered = found.ok_or(SummaryError::Gone("application"))?;
        names.application = quoted(registered.name());
    }
    Ok(Summary {
        text: text(action, &names),
        user,
        application,
    })
}

/// The current names of what an action concerns. Those that others chose freely are in quotes.
#[derive(Default)]
struct SubjectNames {
    user: String,
    /// The date of the user's creation (UTC), which the user does not choose. It tells a known user from one with a
    /// similar name.
    since: String,
    email: Option<String>,
    device: String,
    account: String,
    application: String,
}

fn text(action: &ProtectedAction, names: &SubjectNames) -> String {
    use ProtectedAction as A;
    let SubjectNames {
        user,
        since,
        device,
        account,
        application,
        ..
    } = names;
    match action {
        A::CreateUser {
            name,
            email,
            console_role,
        } => new_user(name, email.as_ref(), *console_role),
        A::UpdateUser { changes, .. } => {
            joined(changes.iter().map(|change| user_change(change, names)))
        }
        A::DeleteUser(_) => format!("Delete the user {user}"),
        A::EraseUser(_) => format!("Erase the personal data of the user {user}"),
        A::EnrolDevice(_) => format!("Let another device approve as {user}, a user since {since}"),
        A::RevokeDevice(_) => {
            format!("Remove a device of {user}, who has a role in the console: {device}")
        }
        A::SetExternalAuthenticator {
            channel,
            identifier,
            replaced,
            ..
        } => external_authenticator(names, channel, identifier, replaced.as_deref()),
        A::CreateAccount { name, .. } => format!(
            "Set the name of {user} to {} in the application {application}",
            quoted(name)
        ),
        A::UpdateAccount { changes, .. } => {
            joined(changes.iter().map(|change| account_change(change, names)))
        }
        A::DeleteAccount(_) => {
            format!("Delete the account {account} of {user} in the application {application}")
        }
        A::CreateApplication(client) => application_summary::new_client(client),
        A::UpdateClient {
            application: id,
            before,
            after,
            members,
            sets_admin_scopes,
        } => application_summary::updated_client(
            (id, application),
            before,
            after,
            (members, *sets_admin_scopes),
        ),
        A::UpdateServiceProvider {
            before,
            after,
            members,
            ..
        } => application_summary::updated_service_provider(application, before, after, members),
        A::ApplyMetadata {
            before,
            after,
            members,
            ..
        } => application_summary::applied_metadata(application, before, after, members),
        A::DeleteApplication(_) => format!("Delete the application {application}"),
        A::RotateClientSecret(_) => format!("Rotate the client secret of {application}"),
        A::IssueCertificate(_) => {
            format!("Publish the next certificate of {application}")
        }
        A::ActivateCertificate { sha256, .. } => {
            format!("Activate the certificate with the SHA-256 digest {sha256} for {application}")
        }
        A::WithdrawCertificate { sha256, .. } => {
            format!("Withdraw the certificate with the SHA-256 digest {sha256} of {application}")
        }
        A::RotateSigningKeys { algorithm, now } => new_keys(*algorithm, *now),
        A::RevokeSigningKey { kid } => format!("Revoke the signing key {}", shortened(kid)),
        A::ReloadPlugins => "Reload the plugins".to_owned(),
        A::RollBackPlugins { plugins, .. } => {
            format!("Roll back to the previous plugins: {plugins}")
        }
        A::TryComponent { plugin, component } => format!(
            "Run a new component as the plugin {}, with the SHA-256 digest {component}",
            quoted(plugin)
        ),
        A::ImportTable {
            application: Some(_),
            table,
        } => {
            let accounts = counted(table.rows, "account");
            import(
                &format!("{accounts} of the application {application}"),
                table,
            )
        }
        A::ImportTable { table, .. } => import(&counted(table.rows, "user"), table),
    }
}

/// The day of a time, in UTC: "2026-11-24".
fn date(at: Timestamp) -> String {
    jiff::Timestamp::from_second(at.seconds())
        .unwrap_or_default()
        .to_zoned(jiff::tz::TimeZone::UTC)
        .date()
        .to_string()
}

/// The last characters of an id. They are random; the first ones are the time of creation.
fn end_of(id: &str) -> &str {
    id.len()
        .checked_sub(ID_END)
        .and_then(|start| id.get(start..))
        .unwrap_or(id)
}

fn new_user(name: &LoginName, email: Option<&LoginName>, role: ConsoleRole) -> String {
    let address = email.map_or_else(String::new, |email| {
        format!(", with the e-mail address {email}")
    });
    format!(
        "Create the user {} with the role {} in the console{address}",
        quoted(name.as_str()),
        role.as_str()
    )
}

fn new_keys(algorithm: Option<SigningAlgorithm>, now: bool) -> String {
    let algorithm = algorithm.map_or("each algorithm", SigningAlgorithm::as_str);
    let moment = if now { ", in a few minutes" } else { "" };
    format!("Let a new key of {algorithm} sign ID tokens{moment}")
}

fn joined(sentences: impl Iterator<Item = String>) -> String {
    sentences.collect::<Vec<_>>().join("; ")
}

fn external_authenticator(
    SubjectNames { user, since, .. }: &SubjectNames,
    channel: &str,
    identifier: &str,
    replaced: Option<&str>,
) -> String {
    let replaced = replaced.map_or_else(String::new, |known| {
        format!(", in place of {}", quoted(known))
    });
    format!(
        "Let the holder of the identifier {} at the channel {} approve as {user}, a user since {since}{replaced}",
        quoted(identifier),
        quoted(channel)
    )
}

fn user_change(change: &ProtectedUserChange, names: &SubjectNames) -> String {
    let SubjectNames {
        user, since, email, ..
    } = names;
    match change {
        ProtectedUserChange::Terminate => format!("Terminate the user {user}"),
        ProtectedUserChange::Name(new) => format!("Let {user} sign in as {}", quoted(new.as_str())),
        ProtectedUserChange::Email(Some(email)) => {
            format!("Change the e-mail address of {user} to {email}")
        }
        ProtectedUserChange::Email(None) => {
            let known = email.as_deref().unwrap_or_default();
            format!("Remove the e-mail address {known} of {user}")
        }
        ProtectedUserChange::RemoveRole => {
            format!("Remove the role in the console of {user}")
        }
        ProtectedUserChange::GrantRole {
            role,
            authenticators: Authenticators { devices, external },
        } => {
            let vendors = match *external {
                0 => String::new(),
                count => format!(" and {}", counted(count, "vendor's authenticator")),
            };
            format!(
                "Grant {user}, a user since {since}, the role {} in the console; {user} approves with {}{vendors}",
                role.as_str(),
                counted(*devices, "device")
            )
        }
    }
}

fn account_change(change: &ProtectedAccountChange, names: &SubjectNames) -> String {
    let SubjectNames {
        user,
        account,
        application,
        ..
    } = names;
    match change {
        ProtectedAccountChange::Name(new) => format!(
            "Set the name of {user} to {} in the application {application}, in place of {account}",
            quoted(new)
        ),
        ProtectedAccountChange::Terminate => {
            format!("Terminate the account {account} of {user} in the application {application}")
        }
    }
}

fn import(what: &str, table: &ImportedTable) -> String {
    // Applications may know a user by the name or the address.
    let noted = |count: u64, what: &str| match count {
        0 => String::new(),
        count => format!(", {count} with another {what}"),
    };
    format!(
        "Import {what}: {} new, {} updated{}{}",
        table.created,
        table.changed,
        noted(table.renamed, "name"),
        noted(table.readdressed, "e-mail address")
    )
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 {
        format!("1 {what}")
    } else {
        format!("{count} {what}s")
    }
}
