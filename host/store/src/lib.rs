//! The store: SQLite inside the process, or PostgreSQL for several instances, with one SQL text for both.
//!
//! Reads share a few connections. A writer executes the writes, and pending writes share one commit. No write is
//! acknowledged before it is durable. Frequent reads and writes of applications' requests share statements as well. One
//! `UPDATE ... RETURNING` claims everything that may be used only once.

#![warn(clippy::missing_errors_doc)]

mod accounts;
mod action_approvals;
mod admin_tokens;
mod applications;
mod approval_conflicts;
mod approval_requests;
mod approvals;
mod audit;
mod backlog;
mod backup;
mod batch;
mod bootstrap;
mod changes;
mod clock_guard;
mod component_approvals;
mod connect;
mod connections;
mod consents;
mod cooldowns;
mod counts;
mod database_url;
mod deferred;
mod deliveries;
mod deprovisioning;
mod devices;
mod diagnosis;
mod dispatches;
mod effective_access;
mod epoch;
mod error;
mod external_authenticators;
mod groups;
mod held_requests;
mod idempotency;
mod instance;
mod instances;
mod invitations;
mod keys;
mod logins;
mod logos;
mod logout;
mod management;
mod measurements;
mod metrics;
mod migrations;
mod open_sign_ins;
mod outcomes;
mod overview;
mod partitions;
mod passkey_sign_ins;
mod passkeys;
mod pending_recovery_codes;
mod pipelined;
mod portal;
mod protocols;
mod recovery;
mod repeats;
mod replay_cache;
mod reports;
mod request_attempts;
mod requested_approvals;
mod retention;
mod rows;
mod saml_keys;
mod saml_logouts;
mod sealed_values;
mod sessions;
mod sign_on;
mod sign_on_queues;
pub mod sql;
mod start;
mod store;
mod streams;
#[cfg(test)]
mod test_database;
mod test_sign_ins;
mod tokens;
mod traces;
mod transactions;
mod turn;
mod users;
mod versioned_cache;
mod wrapped_keys;
mod writer;

pub use accounts::{AccountWrite, UserAccount};
pub use action_approvals::ClaimedAction;
pub use applications::{ApplicationCursor, ApplicationOrder, ApplicationUsage};
pub use approval_requests::RequestOutcome;
pub use approvals::{AnswerOutcome, AuditNote, DeviceAnswer, EarlierDecision, RulingOutcome};
pub use audit::context::ChainContext;
pub use audit::{AuditFilter, AuditPage, SKEW as CLOCK_SKEW, StoredEntry};
pub use backlog::{Backlog, Backlogs};
pub use backup::{
    BackupContent, EndedCounts, PostgresSnapshot, PostgresTarget, RESTORE_RULES, ReapplyCounts,
    RestoreOutcome, RestorePlan, RestoreTarget, Revocation, TableAction, TableRule,
    UnfinishedRestore, copy_sqlite,
};
pub use bootstrap::Bootstrap;
pub use changes::waiters::ChangeListener;
pub use connect::{ConnectionCounts, Database, DatabaseOptions};
pub use consents::{Consent, ConsentGrant};
pub use cooldowns::{CooldownCursor, RunningCooldown};
pub use deliveries::ChannelWork;
pub use devices::InboxSummary;
pub use diagnosis::{DatabaseProblem, Diagnosis};
pub use dispatches::DISPATCH_LEASE;
pub use effective_access::{AccessFilter, EffectiveAccess, MOST_COUNTED};
pub use error::{Result, StoreError, ValueError};
pub use groups::{GroupOrder, GroupSummary, MOST_MEMBERS_COUNTED, MemberChange};
pub use idempotency::IdempotentRow;
pub use invitations::NewInvitation;
pub use logins::{Completion, IssuedGrant, NewSession, SignInRecord};
pub use management::{ExpectedVersions, ManagedWrite, ManifestWrites};
pub use migrations::{
    Backfill, HEARTBEAT_LIMIT, MIGRATIONS, Migration, MigrationKind, MigrationOutcome,
    MigrationPolicy, OlderInstance, PostponedMigration,
};
pub use open_sign_ins::OpenSignIns;
pub use outcomes::{DeviceWrite, ReplayCheck, Transition, VersionedWrite};
pub use overview::{QUARTER, SignInHour};
pub use passkey_sign_ins::{PasskeyApproval, PasskeyApprovalOutcome};
pub use passkeys::PasskeyUseOutcome;
pub use pending_recovery_codes::CodesConfirmation;
pub use portal::OpenSession;
pub use recovery::{CodeUse, IsOwnLink, Recovery};
pub use repeats::{COUNTED_FOR, RepetitionCount};
pub use reports::{ReportFilter, ReportWrite, SettledReport};
pub use requested_approvals::{ApprovalRequest, RefusedRequest};
pub use retention::Retention;
pub use saml_keys::KeyDeletion;
pub use sealed_values::{SealedPlace, SealedValue};
pub use sign_on::ClaimedSignOn;
pub use store::Store;
pub use test_sign_ins::{StepRecord, TestSignInResult};
pub use tokens::{
    ClientTokenState, FamilyState, NewAccess, Redemption, Rotation, RotationRequest, TokenFamily,
};
pub use traces::ClaimTrace;
pub use users::{UserGuard, UserOrder, UserSummary, UserUpdateOutcome, UserWrite};
pub use wrapped_keys::NewSealingKey;

pub(crate) use error::taken;
