//! The summary of a protected action: the text that the administrator's device shows and signs, in its language.

use super::action::{
    ActionSubject, Authenticators, ConfirmedUser, ImportedTable, ProtectedAccountChange,
    ProtectedAction, ProtectedUserChange,
};
use super::application_summary;
use super::details_type_summary;
use super::escape::{quoted_list, unquoted};
use super::group_summary;
use super::joined::{in_a_row, sentences};
use super::manifest_summary;
use super::moments::{date, date_and_time};
use super::registration_summary;
use crate::messages::Message;
use assent_model::action_approval::ActionOutline;
use assent_model::clock::Timestamp;
use assent_model::id::{Did, GroupId};
use assent_model::key::SigningAlgorithm;
use assent_model::language::Language;
use assent_model::name::LoginName;
use assent_model::secret::Digest;
use assent_model::user::{ConsoleRole, LifecycleState, User, is_other_address};
use assent_store::{Store, StoreError};

/// The number of characters of an identifier that a summary shows.
const ID_END: usize = 8;

/// The largest length of a summary, in characters. An administrator must be able to read it on a phone.
const LONGEST: usize = 4_000;

/// The summary of an action, and the subject of the action.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The action and its subject: "Delete the user ada".
    message: Message,
    /// The user, in the version that the text names.
    pub user: Option<User>,
    /// The application.
    pub application: Option<Did>,
}

impl Summary {
    /// Returns the text in a language.
    pub fn text(&self, language: Language) -> String {
        self.message.plain(language)
    }

    /// Returns the digest of the summary. It is the digest of the English text, regardless of the device's language.
    pub fn digest(&self) -> Digest {
        Digest::sha256(self.text(Language::English).as_bytes())
    }

    /// Whether the summary is too long for an administrator to read it on a device before the approval.
    pub fn is_too_long(&self) -> bool {
        self.text(Language::English).chars().count() > LONGEST
    }

    /// Returns the kind of this action, and the identifiers of its subject.
    pub fn outline(&self, action: &ProtectedAction) -> ActionOutline {
        ActionOutline {
            kind: action.kind(),
            target_user: self.user.as_ref().map(|user| user.id),
            target_application: self.application.clone(),
        }
    }
}

/// The reason why an action has no summary.
#[derive(Debug, thiserror::Error)]
pub enum SummaryError {
    /// The subject of the action does not exist any more.
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
/// [`SummaryError::Gone`] if the subject of the action does not exist.
pub async fn summarize(store: &Store, action: &ProtectedAction) -> Result<Summary> {
    let mut names = SubjectNames::default();
    let (user, application) = match action.subject() {
        ActionSubject::Server => (None, None),
        ActionSubject::User(user) => (Some(user), None),
        ActionSubject::Application(application) => (None, Some(application.clone())),
        ActionSubject::Group(group) => {
            names.group = group_name(store, group).await?;
            (None, None)
        }
        ActionSubject::GroupIn(group, application) => {
            names.group = group_name(store, group).await?;
            (None, Some(application.clone()))
        }
        ActionSubject::UserIn(user, application) => (Some(user), Some(application.clone())),
        ActionSubject::Device(device) => {
            let found = store.device(device).await?;
            let device = found.ok_or(SummaryError::Gone("device"))?;
            // The user of the device can change its name, and would thereby end the request to revoke it. The
            // identifier and the date never change.
            names.device_since = date(device.created_at);
            names.device_end = end_of(&device.id.to_string()).to_owned();
            (Some(device.user_id), None)
        }
        ActionSubject::Account(account) => {
            let found = store.account(account).await?;
            let account = found.ok_or(SummaryError::Gone("account"))?;
            names.account = unquoted(&account.name);
            (Some(account.user_id), Some(account.application_id))
        }
    };
    let user = match user {
        Some(id) => {
            let user = store.user(id).await?.ok_or(SummaryError::Gone("user"))?;
            names.user = unquoted(user.name.as_str());
            names.since = date(user.created_at);
            names.is_invited = user.state == LifecycleState::Invited;
            names.email = user.email.as_ref().map(ToString::to_string);
            Some(user)
        }
        None => None,
    };
    if let Some(id) = &application {
        let found = store.registered(id).await?;
        let registered = found.ok_or(SummaryError::Gone("application"))?;
        names.application = unquoted(registered.name());
    }
    Ok(Summary {
        message: message(action, &names),
        user,
        application,
    })
}

async fn group_name(store: &Store, group: GroupId) -> Result<String> {
    let found = store.group(group).await?;
    let group = found.ok_or(SummaryError::Gone("group"))?;
    Ok(unquoted(group.name.as_str()))
}

/// The current names of an action's subject. Names that users chose freely are in quotes.
#[derive(Default)]
struct SubjectNames {
    user: String,
    /// The date of the user's creation (UTC), which the user does not choose. It distinguishes a known user from
    /// another one with a similar name.
    since: String,
    email: Option<String>,
    /// Whether the user is invited: no device approves for the user yet.
    is_invited: bool,
    /// The date of the device's enrolment (UTC), and the end of its identifier.
    device_since: String,
    device_end: String,
    account: String,
    group: String,
    application: String,
}

fn message(action: &ProtectedAction, names: &SubjectNames) -> Message {
    use ProtectedAction as A;
    let user = names.user.as_str();
    let application = names.application.as_str();
    match action {
        A::CreateUser {
            name,
            email,
            console_role,
        } => new_user(name, email.as_ref(), *console_role),
        A::UpdateUser { changes, .. } => {
            sentences(changes.iter().map(|change| user_change(change, names)))
        }
        A::ConfirmEmails { users } => Message::new("action-confirm-emails")
            .message("emails", in_a_row(users.iter().map(confirmed_user))),
        A::DeleteUser(_) => Message::new("action-delete-user").text("user", user),
        A::EraseUser(_) => Message::new("action-erase-user").text("user", user),
        A::EnrolDevice(_) | A::CreateInvitationLinks { .. } => links(action, names),
        A::CreateRecoveryCodes(_) => {
            Message::new("action-create-recovery-codes").text("user", user)
        }
        A::RevokeDevice(_) => revoked_device(names),
        A::SettleReport {
            reported_at,
            end_cooldown,
            device,
            ..
        } => settled_report(names, *reported_at, *end_cooldown, device.is_some()),
        A::SetExternalAuthenticator {
            channel,
            identifier,
            replaced,
            ..
        } => external_authenticator(names, channel, identifier, replaced.as_deref()),
        A::CreateAccount { name, .. } => new_account(names, name),
        A::UpdateAccount { changes, .. } => {
            sentences(changes.iter().map(|change| account_change(change, names)))
        }
        A::DeleteAccount(_) => deleted_account(names),
        A::RenameGroup { .. }
        | A::DeleteGroup(_)
        | A::ReplaceMembers { .. }
        | A::AssignAccess { .. }
        | A::RemoveAssignment { .. } => {
            group_summary::message(action, names.group.as_str(), application)
        }
        A::CreateApplication(client) => application_summary::new_client(client),
        A::CreateRegistrationToken(token) => registration_summary::message(token),
        A::RegisterDetailsType(registered) => details_type_summary::message(registered),
        A::UpdateClient {
            application: id,
            before,
            after,
            members,
            sets_admin_scopes,
        } => application_summary::updated_client(
            id,
            application,
            before,
            after,
            members,
            *sets_admin_scopes,
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
        A::DeleteApplication(_) => {
            Message::new("action-delete-application").text("application", application)
        }
        A::RotateClientSecret(_)
        | A::CreateClientSecret { .. }
        | A::DeleteClientSecret { .. }
        | A::IssueCertificate(_)
        | A::ActivateCertificate { .. }
        | A::WithdrawCertificate { .. } => credential(action, application),
        A::RotateSigningKeys { algorithm, now } => new_keys(*algorithm, *now),
        A::RotateReceiptKeys { now } => new_receipt_key(*now),
        A::RevokeReceiptKey { kid } => revoked_receipt_key(kid),
        A::RevokeSigningKey { kid } => Message::new("action-revoke-key").text("key", unquoted(kid)),
        A::ReloadPlugins | A::RollBackPlugins { .. } | A::TryComponent { .. } => plugins(action),
        A::ImportTable {
            application: of,
            table,
        } => import(of.as_ref().map(|_| application), table),
        A::ApplyManifest {
            owner,
            digest,
            changes,
            objects,
        } => manifest_summary::message(owner, digest, *changes, objects),
    }
}

/// Returns the summary of an action that creates links. The holder of a link becomes the user.
fn links(action: &ProtectedAction, names: &SubjectNames) -> Message {
    match action {
        ProtectedAction::CreateInvitationLinks { users } => {
            let mut users: Vec<&str> = users.iter().map(|user| user.name.as_str()).collect();
            users.sort_unstable();
            Message::new("action-create-invitation-links").message("users", quoted_list(users))
        }
        _ if names.is_invited => Message::new("action-enrol-first-device")
            .text("user", names.user.as_str())
            .text("since", names.since.as_str()),
        _ => Message::new("action-enrol-device")
            .text("user", names.user.as_str())
            .text("since", names.since.as_str()),
    }
}

/// Returns a user with the address that is confirmed. The confirmation covers a name that is another address.
fn confirmed_user(ConfirmedUser { name, email, .. }: &ConfirmedUser) -> Message {
    let user = unquoted(name.as_str());
    match is_other_address(name, Some(email)) {
        false => Message::new("action-confirmed-email")
            .text("user", user)
            .text("email", unquoted(email.as_str())),
        true => Message::new("action-confirmed-email-and-name")
            .text("user", user)
            .text("email", unquoted(email.as_str())),
    }
}

fn revoked_device(names: &SubjectNames) -> Message {
    Message::new("action-revoke-device")
        .text("user", names.user.as_str())
        .text("day", names.device_since.as_str())
        .text("end", names.device_end.as_str())
}

fn settled_report(
    names: &SubjectNames,
    reported_at: Timestamp,
    ends_cooldown: bool,
    revokes_device: bool,
) -> Message {
    let settled = Message::new("action-settle-report")
        .text("user", names.user.as_str())
        .text("time", date_and_time(reported_at));
    let cooldown = ends_cooldown
        .then(|| Message::new("action-settle-ends-pause").text("user", names.user.as_str()));
    let device = revokes_device.then(|| revoked_device(names));
    sentences([settled].into_iter().chain(cooldown).chain(device))
}

/// Returns the summary of an action on an application's secrets or certificates.
fn credential(action: &ProtectedAction, application: &str) -> Message {
    use ProtectedAction as A;
    match action {
        A::RotateClientSecret(_) => {
            Message::new("action-rotate-client-secret").text("application", application)
        }
        A::CreateClientSecret {
            is_second: true, ..
        } => Message::new("action-create-second-client-secret").text("application", application),
        A::DeleteClientSecret {
            secret, created_at, ..
        } => Message::new("action-delete-client-secret")
            .text("application", application)
            .text("day", date(*created_at))
            .text("end", end_of(&secret.to_string())),
        A::IssueCertificate(_) => {
            Message::new("action-issue-certificate").text("application", application)
        }
        A::ActivateCertificate { sha256, .. } => Message::new("action-activate-certificate")
            .text("application", application)
            .text("digest", sha256.as_str()),
        A::WithdrawCertificate { sha256, .. } => Message::new("action-withdraw-certificate")
            .text("application", application)
            .text("digest", sha256.as_str()),
        _ => Message::new("action-create-client-secret").text("application", application),
    }
}

fn plugins(action: &ProtectedAction) -> Message {
    use ProtectedAction as A;
    match action {
        A::RollBackPlugins { plugins, .. } => {
            Message::new("action-roll-back-plugins").text("plugins", plugins.as_str())
        }
        A::TryComponent { plugin, component } => Message::new("action-try-component")
            .text("plugin", unquoted(plugin))
            .text("digest", component.as_str()),
        _ => Message::new("action-reload-plugins"),
    }
}

/// Returns the last characters of an identifier. They are random, while the first ones are the time of creation.
fn end_of(id: &str) -> &str {
    id.len()
        .checked_sub(ID_END)
        .and_then(|start| id.get(start..))
        .unwrap_or(id)
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn new_user(name: &LoginName, email: Option<&LoginName>, role: Option<ConsoleRole>) -> Message {
    let user = unquoted(name.as_str());
    let created = match (role, email) {
        (None, None) => Message::new("action-create-user-without-role").text("user", user),
        (None, Some(email)) => Message::new("action-create-user-without-role-with-email")
            .text("user", user)
            .text("email", email.as_str()),
        (Some(role), None) => Message::new("action-create-user")
            .text("user", user)
            .message("role", role_name(role)),
        (Some(role), Some(email)) => Message::new("action-create-user-with-email")
            .text("user", user)
            .message("role", role_name(role))
            .text("email", email.as_str()),
    };
    let warning =
        is_other_address(name, email).then(|| Message::new("action-named-by-other-address"));
    sentences([created].into_iter().chain(warning))
}

/// Returns the name of a console role, for the sentence that grants it.
const fn role_name(role: ConsoleRole) -> Message {
    match role {
        ConsoleRole::Owner => Message::new("action-role-owner"),
        ConsoleRole::Admin => Message::new("action-role-admin"),
        ConsoleRole::Support => Message::new("action-role-support"),
        ConsoleRole::Auditor => Message::new("action-role-auditor"),
    }
}

fn new_keys(algorithm: Option<SigningAlgorithm>, now: bool) -> Message {
    let algorithm = algorithm.map(SigningAlgorithm::as_str);
    match (algorithm, now) {
        (None, false) => Message::new("action-rotate-keys"),
        (None, true) => Message::new("action-rotate-keys-now"),
        (Some(algorithm), false) => Message::new("action-rotate-key").text("algorithm", algorithm),
        (Some(algorithm), true) => {
            Message::new("action-rotate-key-now").text("algorithm", algorithm)
        }
    }
}

fn new_receipt_key(now: bool) -> Message {
    match now {
        false => Message::new("action-rotate-receipt-key"),
        true => Message::new("action-rotate-receipt-key-now"),
    }
}

fn revoked_receipt_key(kid: &str) -> Message {
    Message::new("action-revoke-receipt-key").text("key", unquoted(kid))
}

fn external_authenticator(
    SubjectNames { user, since, .. }: &SubjectNames,
    channel: &str,
    identifier: &str,
    replaced: Option<&str>,
) -> Message {
    match replaced {
        None => Message::new("action-external-authenticator")
            .text("user", user.as_str())
            .text("since", since.as_str())
            .text("channel", unquoted(channel))
            .text("identifier", unquoted(identifier)),
        Some(replaced) => Message::new("action-external-authenticator-replaced")
            .text("user", user.as_str())
            .text("since", since.as_str())
            .text("channel", unquoted(channel))
            .text("identifier", unquoted(identifier))
            .text("replaced", unquoted(replaced)),
    }
}

fn user_change(change: &ProtectedUserChange, names: &SubjectNames) -> Message {
    let user = names.user.as_str();
    match change {
        ProtectedUserChange::Terminate => Message::new("action-terminate-user").text("user", user),
        ProtectedUserChange::Name(new) => Message::new("action-rename-user")
            .text("user", user)
            .text("name", unquoted(new.as_str())),
        ProtectedUserChange::Email(Some(email)) => Message::new("action-change-email")
            .text("user", user)
            .text("email", email.as_str()),
        ProtectedUserChange::Email(None) => Message::new("action-remove-email")
            .text("user", user)
            .text("email", names.email.as_deref().unwrap_or_default()),
        ProtectedUserChange::ConfirmEmail(email) => Message::new("action-confirm-email")
            .text("user", user)
            .text("email", unquoted(email.as_str())),
        ProtectedUserChange::ConfirmName => Message::new("action-confirm-name").text("user", user),
        ProtectedUserChange::RemoveRole => Message::new("action-remove-role").text("user", user),
        ProtectedUserChange::GrantRole {
            role,
            authenticators,
        } => sentences([
            Message::new("action-grant-role")
                .text("user", user)
                .text("since", names.since.as_str())
                .message("role", role_name(*role)),
            approves_with(user, *authenticators),
        ]),
    }
}

/// Returns the authenticators with which a user approves. Any holder of one of them would have the role too.
fn approves_with(user: &str, Authenticators { devices, external }: Authenticators) -> Message {
    match (devices, external) {
        (0, 0) => Message::new("action-approves-with-nothing").text("user", user),
        (devices, 0) => Message::new("action-approves-with")
            .text("user", user)
            .number("devices", number(devices)),
        (devices, external) => Message::new("action-approves-with-external")
            .text("user", user)
            .number("devices", number(devices))
            .number("external", number(external)),
    }
}

fn new_account(names: &SubjectNames, name: &str) -> Message {
    Message::new("action-create-account")
        .text("user", names.user.as_str())
        .text("name", unquoted(name))
        .text("application", names.application.as_str())
}

fn deleted_account(names: &SubjectNames) -> Message {
    Message::new("action-delete-account")
        .text("account", names.account.as_str())
        .text("user", names.user.as_str())
        .text("application", names.application.as_str())
}

fn account_change(change: &ProtectedAccountChange, names: &SubjectNames) -> Message {
    match change {
        ProtectedAccountChange::Name(new) => Message::new("action-rename-account")
            .text("user", names.user.as_str())
            .text("name", unquoted(new))
            .text("application", names.application.as_str())
            .text("account", names.account.as_str()),
        ProtectedAccountChange::Terminate => Message::new("action-terminate-account")
            .text("account", names.account.as_str())
            .text("user", names.user.as_str())
            .text("application", names.application.as_str()),
    }
}

fn import(application: Option<&str>, table: &ImportedTable) -> Message {
    let counts = [table.rows, table.created, table.changed].map(number);
    let [rows, created, changed] = counts;
    let import = match application {
        None => Message::new("action-import-users")
            .number("count", rows)
            .number("created", created)
            .number("changed", changed),
        Some(application) => Message::new("action-import-accounts")
            .number("count", rows)
            .text("application", application)
            .number("created", created)
            .number("changed", changed),
    };
    // Applications may identify a user by the name or the address.
    let import = match table.renamed {
        0 => import,
        count => Message::new("action-import-renamed")
            .message("import", import)
            .number("count", number(count)),
    };
    let import = match table.readdressed {
        0 => import,
        count => Message::new("action-import-readdressed")
            .message("import", import)
            .number("count", number(count)),
    };
    let import = match table.confirmed {
        0 => import,
        count => Message::new("action-import-confirmed")
            .message("import", import)
            .number("count", number(count)),
    };
    match table.named_by_other_address {
        0 => import,
        count => Message::new("action-import-named-by-other-address")
            .message("import", import)
            .number("count", number(count)),
    }
}
