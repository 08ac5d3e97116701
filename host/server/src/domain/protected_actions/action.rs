//! The types of protected actions.

use serde::{Deserialize, Serialize};

use super::application_state::{ChangedMember, ClientState, ServiceProviderState};
use super::manifest_object::ManifestObject;
use assent_model::administration::ProtectedActionKind;
use assent_model::authorization_details::type_definition::TypeSource;
use assent_model::client_registration::RegistrationLimits;
use assent_model::clock::Timestamp;
use assent_model::group::Assignee;
use assent_model::id::{AccountId, ClientSecretId, DeviceId, Did, GroupId, UserId};
use assent_model::key::SigningAlgorithm;
use assent_model::name::LoginName;
use assent_model::secret::Digest;
use assent_model::user::{ConsoleRole, User};

/// An initial access token, with which applications register themselves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewRegistrationToken {
    /// The name.
    pub name: String,
    /// The end.
    pub expires_at: Timestamp,
    /// The number of applications in total.
    pub quota: u32,
    /// The number of applications on one day.
    pub daily_quota: u32,
    /// The limits of the applications.
    pub limits: RegistrationLimits,
}

/// A type of authorization details with its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisteredType {
    /// The type.
    pub definition: TypeSource,
    /// Whether it replaces one with the same name.
    pub replaces: bool,
}

/// An action that needs an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProtectedAction {
    /// Creates a user with a console role, or with a name that is an address other than the email address.
    CreateUser {
        /// The name of the new user.
        name: LoginName,
        /// The email address, with which the user can sign in too.
        email: Option<LoginName>,
        /// The role.
        console_role: Option<ConsoleRole>,
    },
    /// Updates a user.
    UpdateUser {
        /// The user.
        user: UserId,
        /// The changes that need the approval.
        changes: Vec<ProtectedUserChange>,
    },
    /// Confirms the email addresses of users.
    ConfirmEmails {
        /// The users.
        users: Vec<ConfirmedUser>,
    },
    /// Deletes a user.
    DeleteUser(UserId),
    /// Erases the personal data of a user.
    EraseUser(UserId),
    /// Creates a link that enrols another device of a user.
    EnrolDevice(UserId),
    /// Creates links that the administrator receives, each of which enrols the first device of an invited user.
    CreateInvitationLinks {
        /// The users who receive one.
        users: Vec<LinkedUser>,
    },
    /// Creates recovery codes of a user, who requests them in the portal.
    CreateRecoveryCodes(UserId),
    /// Revokes the device of a user with a console role.
    RevokeDevice(DeviceId),
    /// Settles a report of the administrator, or one with the removal of the device of a user with a console role.
    SettleReport {
        /// The user who reported the request.
        user: UserId,
        /// The time of the report.
        reported_at: Timestamp,
        /// Whether the user's cooldown ends.
        end_cooldown: bool,
        /// The device to revoke.
        device: Option<DeviceId>,
    },
    /// Sets the external authenticator that approves for a user.
    SetExternalAuthenticator {
        /// The user.
        user: UserId,
        /// The approval channel of the vendor.
        channel: String,
        /// The user's identifier at the vendor.
        identifier: String,
        /// The identifier that it replaces.
        replaced: Option<String>,
    },
    /// Creates an account with another name than the user's.
    CreateAccount {
        /// The user.
        user: UserId,
        /// The application.
        application: Did,
        /// The name of the new account.
        name: String,
    },
    /// Updates an account.
    UpdateAccount {
        /// The account.
        account: AccountId,
        /// The changes that need the approval.
        changes: Vec<ProtectedAccountChange>,
    },
    /// Deletes an account.
    DeleteAccount(AccountId),
    /// Renames a group. Applications receive the name.
    RenameGroup {
        /// The group.
        group: GroupId,
        /// The new name.
        name: String,
    },
    /// Deletes a group.
    DeleteGroup(GroupId),
    /// Changes many members of a group.
    ReplaceMembers {
        /// The group.
        group: GroupId,
        /// The digest of the users.
        digest: String,
        /// The number of added users.
        added: u64,
        /// The number of removed users.
        removed: u64,
    },
    /// Assigns an application to a group or to everyone.
    AssignAccess {
        /// The application.
        application: Did,
        /// The group, or everyone.
        to: Assignee,
        /// The roles.
        roles: Vec<String>,
        /// The previous roles. `None` if the assignment is new.
        replaced: Option<Vec<String>>,
    },
    /// Removes an assignment.
    RemoveAssignment {
        /// The application.
        application: Did,
        /// The group, or everyone.
        from: Assignee,
    },
    /// Creates a client with admin scopes.
    CreateApplication(ClientState),
    /// Creates an initial access token, with which applications register themselves.
    CreateRegistrationToken(NewRegistrationToken),
    /// Registers or replaces a type of authorization details.
    RegisterDetailsType(RegisteredType),
    /// Updates a client.
    UpdateClient {
        /// The client.
        application: Did,
        /// The client before the update.
        before: ClientState,
        /// The client after the update.
        after: ClientState,
        /// The members of the request.
        members: Vec<ChangedMember>,
        /// Whether the request sets the admin scopes.
        sets_admin_scopes: bool,
    },
    /// Updates a service provider.
    UpdateServiceProvider {
        /// The service provider.
        application: Did,
        /// The service provider before the update.
        before: ServiceProviderState,
        /// The service provider after the update.
        after: ServiceProviderState,
        /// The members of the request.
        members: Vec<ChangedMember>,
    },
    /// Updates a service provider with its metadata.
    ApplyMetadata {
        /// The service provider.
        application: Did,
        /// The service provider before the update.
        before: ServiceProviderState,
        /// The service provider after the update.
        after: ServiceProviderState,
        /// The members that differ.
        members: Vec<String>,
    },
    /// Deletes an application.
    DeleteApplication(Did),
    /// Replaces the secrets of a client.
    RotateClientSecret(Did),
    /// Creates another secret for a client.
    CreateClientSecret {
        /// The client.
        application: Did,
        /// Whether the client has a secret already, which remains valid.
        is_second: bool,
    },
    /// Deletes a secret of a client.
    DeleteClientSecret {
        /// The client.
        application: Did,
        /// The identifier of the secret.
        secret: ClientSecretId,
        /// The time at which the secret was created.
        created_at: Timestamp,
    },
    /// Publishes the next certificate of a service provider.
    IssueCertificate(Did),
    /// Activates a certificate of a service provider.
    ActivateCertificate {
        /// The service provider.
        application: Did,
        /// The digest of the certificate, in hexadecimal.
        sha256: String,
    },
    /// Removes a certificate of a service provider from its metadata.
    WithdrawCertificate {
        /// The service provider.
        application: Did,
        /// The digest of the certificate, in hexadecimal.
        sha256: String,
    },
    /// Publishes the next signing keys.
    RotateSigningKeys {
        /// The algorithm. `None`: all algorithms.
        algorithm: Option<SigningAlgorithm>,
        /// Whether the keys sign at once.
        now: bool,
    },
    /// Revokes a signing key.
    RevokeSigningKey {
        /// The key's identifier.
        kid: String,
    },
    /// Publishes the next key of receipts.
    RotateReceiptKeys {
        /// Whether it signs at once.
        now: bool,
    },
    /// Revokes a key of receipts.
    RevokeReceiptKey {
        /// The key's identifier.
        kid: String,
    },
    /// Replaces the plugins with those that the settings name.
    ReloadPlugins,
    /// Restores the plugins before the last exchange.
    RollBackPlugins {
        /// The digest of these plugins.
        digest: String,
        /// Their names, versions and digests in one line.
        plugins: String,
    },
    /// Runs a component that is not loaded.
    TryComponent {
        /// The plugin that the component replaces, and whose grants it has.
        plugin: String,
        /// The digest of the component.
        component: String,
    },
    /// Imports a table of users, or of the accounts of an application.
    ImportTable {
        /// The application. `None`: a table of users.
        application: Option<Did>,
        /// The CSV file.
        table: ImportedTable,
    },
    /// Applies a manifest.
    ApplyManifest {
        /// The owner of the manifest.
        owner: String,
        /// The digest of the plan.
        digest: String,
        /// The numbers of changes.
        changes: ManifestChanges,
        /// The changes.
        objects: Vec<ManifestObject>,
    },
}

/// A user for whom the administrator receives a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkedUser {
    /// The user.
    pub id: UserId,
    /// The user's name.
    pub name: LoginName,
}

impl From<&User> for LinkedUser {
    fn from(user: &User) -> Self {
        Self {
            id: user.id,
            name: user.name.clone(),
        }
    }
}

/// A user whose email address is confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfirmedUser {
    /// The user.
    pub id: UserId,
    /// The user's name. If it is another address, it is confirmed too.
    pub name: LoginName,
    /// The email address.
    pub email: LoginName,
}

impl ConfirmedUser {
    /// Returns this user. `None` without an email address.
    pub fn from_user(user: &User) -> Option<Self> {
        Some(Self {
            id: user.id,
            name: user.name.clone(),
            email: user.email.clone()?,
        })
    }
}

/// The numbers of objects that a manifest changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestChanges {
    /// The number of created objects.
    pub created: u64,
    /// The number of updated objects.
    pub updated: u64,
    /// The number of deleted objects.
    pub deleted: u64,
}

/// A table, and the effects of its import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedTable {
    /// The digest of its rows.
    pub digest: String,
    /// The digest of the users or accounts that the rows create and change. The rows are not sufficient, because the
    /// name in a row may belong to another user later.
    pub targets: String,
    /// The number of rows.
    pub rows: u64,
    /// The number of rows that create an object.
    pub created: u64,
    /// The number of rows that change an object.
    pub changed: u64,
    /// The number of rows that change a name.
    pub renamed: u64,
    /// The number of rows that change an email address.
    pub readdressed: u64,
    /// The number of rows that confirm the email address of an existing user.
    pub confirmed: u64,
    /// The number of created and changed users whose name is an address other than their email address.
    pub named_by_other_address: u64,
}

/// A change of a user that needs an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProtectedUserChange {
    /// Terminates the user.
    Terminate,
    /// Changes the user name, which applications receive as `preferred_username`.
    Name(LoginName),
    /// Changes or removes the email address. Applications may identify a user by it, so a change may transfer the
    /// user's access to another user.
    Email(Option<LoginName>),
    /// Confirms the email address, so that applications receive it.
    ConfirmEmail(LoginName),
    /// Confirms the user name, which is an address other than the email address.
    ConfirmName,
    /// Grants a console role.
    GrantRole {
        /// The role.
        role: ConsoleRole,
        /// The user's authenticators. An attacker who enrolled one of them would have the role too.
        authenticators: Authenticators,
    },
    /// Removes the console role.
    RemoveRole,
}

/// The numbers of authenticators with which a user approves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authenticators {
    /// The number of the user's devices.
    pub devices: u64,
    /// The number of the user's external authenticators.
    pub external: u64,
}

/// A change of an account that needs an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProtectedAccountChange {
    /// Changes the name by which the application identifies the user.
    Name(String),
    /// Terminates the account.
    Terminate,
}

/// The subject of an action.
pub(super) enum ActionSubject<'a> {
    /// The server.
    Server,
    /// A user.
    User(UserId),
    /// A user's device.
    Device(DeviceId),
    /// A user in an application, without an account yet.
    UserIn(UserId, &'a Did),
    /// A user's account in an application.
    Account(AccountId),
    /// An application.
    Application(&'a Did),
    /// A group.
    Group(GroupId),
    /// A group in an application.
    GroupIn(GroupId, &'a Did),
}

impl ProtectedAction {
    /// Returns the user names in the action: all that its summary shows, except the names of its subject. The erasure
    /// of a user deletes pending actions and receipts with the user's names.
    pub fn login_names(&self) -> Vec<LoginName> {
        match self {
            Self::CreateUser { name, email, .. } => {
                std::iter::once(name).chain(email).cloned().collect()
            }
            Self::UpdateUser { changes, .. } => changes
                .iter()
                .filter_map(|change| match change {
                    ProtectedUserChange::Name(name) => Some(name),
                    ProtectedUserChange::Email(email) => email.as_ref(),
                    ProtectedUserChange::ConfirmEmail(email) => Some(email),
                    ProtectedUserChange::Terminate
                    | ProtectedUserChange::ConfirmName
                    | ProtectedUserChange::GrantRole { .. }
                    | ProtectedUserChange::RemoveRole => None,
                })
                .cloned()
                .collect(),
            Self::ConfirmEmails { users } => users
                .iter()
                .flat_map(|user| [user.name.clone(), user.email.clone()])
                .collect(),
            Self::CreateInvitationLinks { users } => {
                users.iter().map(|user| user.name.clone()).collect()
            }
            Self::ApplyManifest { objects, .. } => objects
                .iter()
                .flat_map(ManifestObject::login_names)
                .collect(),
            Self::DeleteUser(_)
            | Self::EraseUser(_)
            | Self::EnrolDevice(_)
            | Self::CreateRecoveryCodes(_)
            | Self::RevokeDevice(_)
            | Self::SettleReport { .. }
            | Self::SetExternalAuthenticator { .. }
            | Self::CreateAccount { .. }
            | Self::UpdateAccount { .. }
            | Self::DeleteAccount(_)
            | Self::RenameGroup { .. }
            | Self::DeleteGroup(_)
            | Self::ReplaceMembers { .. }
            | Self::AssignAccess { .. }
            | Self::RemoveAssignment { .. }
            | Self::CreateApplication(_)
            | Self::CreateRegistrationToken(_)
            | Self::RegisterDetailsType(_)
            | Self::UpdateClient { .. }
            | Self::UpdateServiceProvider { .. }
            | Self::ApplyMetadata { .. }
            | Self::DeleteApplication(_)
            | Self::RotateClientSecret(_)
            | Self::CreateClientSecret { .. }
            | Self::DeleteClientSecret { .. }
            | Self::IssueCertificate(_)
            | Self::ActivateCertificate { .. }
            | Self::WithdrawCertificate { .. }
            | Self::RotateSigningKeys { .. }
            | Self::RevokeSigningKey { .. }
            | Self::RotateReceiptKeys { .. }
            | Self::RevokeReceiptKey { .. }
            | Self::ReloadPlugins
            | Self::RollBackPlugins { .. }
            | Self::TryComponent { .. }
            | Self::ImportTable { .. } => Vec::new(),
        }
    }

    /// Returns the kind of the action.
    pub const fn kind(&self) -> ProtectedActionKind {
        match self {
            Self::CreateUser { .. } | Self::UpdateUser { .. } | Self::ConfirmEmails { .. } => {
                ProtectedActionKind::UpdateUser
            }
            Self::DeleteUser(_) => ProtectedActionKind::DeleteUser,
            Self::EraseUser(_) => ProtectedActionKind::EraseUser,
            Self::EnrolDevice(_) | Self::CreateInvitationLinks { .. } => {
                ProtectedActionKind::EnrolDevice
            }
            Self::CreateRecoveryCodes(_) => ProtectedActionKind::CreateRecoveryCodes,
            Self::RevokeDevice(_) => ProtectedActionKind::RevokeDevice,
            Self::SettleReport { .. } => ProtectedActionKind::SettleReport,
            Self::SetExternalAuthenticator { .. } => ProtectedActionKind::SetExternalAuthenticator,
            Self::CreateAccount { .. } => ProtectedActionKind::CreateAccount,
            Self::UpdateAccount { .. } => ProtectedActionKind::UpdateAccount,
            Self::DeleteAccount(_) => ProtectedActionKind::DeleteAccount,
            Self::RenameGroup { .. } | Self::ReplaceMembers { .. } => {
                ProtectedActionKind::UpdateGroup
            }
            Self::DeleteGroup(_) => ProtectedActionKind::DeleteGroup,
            Self::AssignAccess { .. } | Self::RemoveAssignment { .. } => {
                ProtectedActionKind::ChangeAccess
            }
            Self::CreateApplication(_) => ProtectedActionKind::GrantAdminScopes,
            Self::CreateRegistrationToken(_) => ProtectedActionKind::CreateRegistrationToken,
            Self::RegisterDetailsType(_) => ProtectedActionKind::RegisterDetailsType,
            Self::UpdateClient { .. } | Self::UpdateServiceProvider { .. } => {
                ProtectedActionKind::UpdateApplication
            }
            Self::ApplyMetadata { .. } => ProtectedActionKind::ApplyMetadata,
            Self::DeleteApplication(_) => ProtectedActionKind::DeleteApplication,
            Self::RotateClientSecret(_) | Self::CreateClientSecret { .. } => {
                ProtectedActionKind::RotateClientSecret
            }
            Self::DeleteClientSecret { .. } => ProtectedActionKind::DeleteClientSecret,
            Self::IssueCertificate(_) | Self::ActivateCertificate { .. } => {
                ProtectedActionKind::RotateKey
            }
            Self::RotateSigningKeys { .. } | Self::RotateReceiptKeys { .. } => {
                ProtectedActionKind::RotateKey
            }
            Self::WithdrawCertificate { .. }
            | Self::RevokeSigningKey { .. }
            | Self::RevokeReceiptKey { .. } => ProtectedActionKind::RevokeKey,
            Self::ReloadPlugins => ProtectedActionKind::ReloadPlugins,
            Self::RollBackPlugins { .. } => ProtectedActionKind::RollBackPlugins,
            Self::TryComponent { .. } => ProtectedActionKind::TryComponent,
            Self::ImportTable { .. } => ProtectedActionKind::ImportTable,
            Self::ApplyManifest { .. } => ProtectedActionKind::ApplyManifest,
        }
    }

    pub(super) const fn subject(&self) -> ActionSubject<'_> {
        match self {
            Self::UpdateUser { user, .. }
            | Self::DeleteUser(user)
            | Self::EraseUser(user)
            | Self::EnrolDevice(user)
            | Self::CreateRecoveryCodes(user)
            | Self::SetExternalAuthenticator { user, .. }
            | Self::SettleReport {
                user, device: None, ..
            } => ActionSubject::User(*user),
            Self::RevokeDevice(device)
            | Self::SettleReport {
                device: Some(device),
                ..
            } => ActionSubject::Device(*device),
            Self::CreateAccount {
                user, application, ..
            } => ActionSubject::UserIn(*user, application),
            Self::UpdateAccount { account, .. } | Self::DeleteAccount(account) => {
                ActionSubject::Account(*account)
            }
            Self::RenameGroup { group, .. }
            | Self::ReplaceMembers { group, .. }
            | Self::DeleteGroup(group) => ActionSubject::Group(*group),
            Self::AssignAccess {
                application,
                to: Assignee::Group(group),
                ..
            }
            | Self::RemoveAssignment {
                application,
                from: Assignee::Group(group),
            } => ActionSubject::GroupIn(*group, application),
            Self::AssignAccess { application, .. }
            | Self::RemoveAssignment { application, .. }
            | Self::UpdateClient { application, .. }
            | Self::UpdateServiceProvider { application, .. }
            | Self::ApplyMetadata { application, .. }
            | Self::DeleteApplication(application)
            | Self::RotateClientSecret(application)
            | Self::CreateClientSecret { application, .. }
            | Self::DeleteClientSecret { application, .. }
            | Self::IssueCertificate(application)
            | Self::ActivateCertificate { application, .. }
            | Self::WithdrawCertificate { application, .. }
            | Self::ImportTable {
                application: Some(application),
                ..
            } => ActionSubject::Application(application),
            // A new user or application has no identifier yet.
            Self::CreateUser { .. }
            | Self::ConfirmEmails { .. }
            | Self::CreateInvitationLinks { .. }
            | Self::CreateApplication(_)
            | Self::CreateRegistrationToken(_)
            | Self::RegisterDetailsType(_)
            | Self::RotateSigningKeys { .. }
            | Self::RevokeSigningKey { .. }
            | Self::RotateReceiptKeys { .. }
            | Self::RevokeReceiptKey { .. }
            | Self::ReloadPlugins
            | Self::RollBackPlugins { .. }
            | Self::TryComponent { .. }
            | Self::ImportTable {
                application: None, ..
            }
            | Self::ApplyManifest { .. } => ActionSubject::Server,
        }
    }

    /// Returns the digest of the action in the command with this digest. Two actions with the same digest have the same
    /// effect.
    ///
    /// # Errors
    /// If the action cannot be serialized.
    pub fn digest_in(&self, command: Digest) -> Result<Digest, serde_json::Error> {
        Ok(Digest::sha256(&serde_json::to_vec(&(
            self,
            command.to_text(),
        ))?))
    }
}
