//! The use cases of administrators: applications, users, accounts, groups, enrolments.

mod access;
mod accounts;
pub mod action_approvals;
mod activity;
mod admin_tokens;
mod applications;
mod caller_checks;
mod changes;
mod claims_preview;
mod command;
mod custom_attributes;
mod details_types;
mod directory;
mod documents;
mod error;
mod execution;
mod external_authenticators;
mod fetched_logos;
mod groups;
mod import;
mod import_accounts;
mod import_tables;
mod import_users;
mod invitations;
mod keys;
mod list_cell;
mod logos;
mod mail;
mod manifests;
mod names;
mod overview;
mod plugins;
mod registration_tokens;
mod reports;
mod service_providers;
mod user_table;
mod users;

pub use access::{
    ACCESS_COLUMNS, AccessGrant, AccessQuery, AccessRow, GrantSource, UserAccess, access_cells,
    access_of, access_to, find_access,
};
pub use accounts::{
    AccountChange, AccountDocument, AccountGroup, CreateAccount, DeleteAccount, NewAccount,
    UpdateAccount, account, accounts, accounts_of_user,
};
pub use activity::{EndSession, EndSessions, WithdrawConsent, consents, sessions};
pub use admin_tokens::{
    AdminTokenCheck, admin_token, issue_admin_token, issue_admin_token_for, service_account,
};
pub use applications::{
    ApplicationQuery, ClientChange, ClientDocument, ClientSecretUse, CreateClient,
    CreateClientSecret, DeleteApplication, DeleteClientSecret, NewClientSecret, OpenIdConnect,
    RegisteredClient, RegistrationRequest, RotateClientSecret, UpdateClient, application,
    application_usage, applications, client_registration, client_secrets, count_client_update,
    count_registration_attempt, delete_registered_client, delete_unused_registrations,
    find_applications, must_have_quota, register_client, registered_application,
    registration_sources, registration_token, take_back_registration_attempt,
    update_registered_client,
};
pub use assent_model::caller::{Authorization, Caller, Denied, Principal};
pub use assent_model::command::{Field, Member};
pub use caller_checks::{
    AskCaller, CallerCheckState, ShownCallerCheck, caller_check, cancel_caller_check,
    wait_for_caller,
};
pub(super) use changes::AuditedSettings;
pub use claims_preview::{
    ClaimOrigin, Difference, MapperStop, Preview, PreviewComparison, PreviewContent,
    PreviewRequest, PreviewedAccount, PreviewedName, PreviewedToken, TryCandidate, ValueChange,
    preview, preview_of,
};
pub use command::{
    AdminCommand, AdminContext, ApprovedPlan, ExpectedVersion, NamedApproval, Planned,
};
pub use custom_attributes::notes_of as service_provider_notes;
pub use details_types::{DeleteDetailsType, RegisterDetailsType, all_details_types, details_type};
pub use directory::{AccountQuery, UserQuery, find_accounts, find_users};
pub use documents::{ManagementView, UsageView};
pub use error::{AdminError, ManifestError, RequiredApproval, Result};
pub use execution::Execution;
pub use external_authenticators::{
    RemoveExternalAuthenticator, SetExternalAuthenticator, external_authenticators,
};
pub use groups::{
    AddMembers, ApplicationAssignments, AssignAccess, CreateGroup, DeleteGroup, GroupDocument,
    GroupUpdate, ImportMembers, MEMBER_COLUMNS, RemoveAssignment, RemoveMember, ReplaceMembers,
    UpdateGroup, assignments_of, assignments_to, count_groups, group, group_summary, groups,
    groups_of_user, known_roles, member_cells, members_of,
};
pub use import::{ImportReport, ImportRow, RowError};
pub use import_accounts::{ACCOUNT_COLUMNS, PlannedAccounts, account_cells};
pub use import_tables::{ImportTable, TablePlan};
pub use import_users::PlannedUsers;
pub use invitations::{
    EnrolmentLink, InvitationDelivery, InviteUsers, InvitedUser, WithdrawInvitations, invitations,
};
pub use keys::{RevokeSigningKey, RotateSigningKeys};
pub use logos::{RemoveLogo, SetLogo, logo};
pub use mail::{MailPreview, SendTestMail, mail_preview};
pub use manifests::{
    ApplyManifest, ChangeAction, FieldChange, ManagedSettings, Manifest, ManifestPlan, ObjectKind,
    PlannedChange, PutApplication, export_manifest, managed_application, management_of_application,
    management_of_group, manifest_owners, plan_manifest,
};
pub use names::Names;
pub use overview::{Overview, Range, SignIns, count_sign_ins, overview};
pub use plugins::{ReloadPlugins, RollBackPlugins};
pub use registration_tokens::{
    CreateRegistrationToken, DeleteRegistrationToken, registration_scopes, registration_tokens,
};
pub use reports::{SettleReport, Settlement, reports, running_cooldowns};
pub use service_providers::{
    AcsChange, ActivateCertificate, CertificateOf, CreateServiceProvider, IssueCertificate, Saml,
    ServiceProviderChange, ServiceProviderDocument, ServiceProviderUpdate, SingleLogoutChange,
    UpdateServiceProvider, WithdrawCertificate, changed_service_provider, replace_service_provider,
    saml_certificates, service_provider,
};
pub use user_table::{USER_COLUMNS, user_cells};

pub use users::{
    ConfirmEmails, CreateUser, DeleteUser, EndEnrolmentLink, EnrolDevice, EraseUser, RevokeDevice,
    UpdateUser, UserChange, UserDocument, UserNotes, count_users, devices, new_user,
    notes_of_users, open_links, unconfirmed_users, user,
};

pub(super) use error::invalid;
