//! The store: SQLite inside the process, or PostgreSQL for several instances, with one SQL text for both.
//!
//! Reads share a few connections. A writer executes the writes, and pending writes share one commit. No write is
//! acknowledged before it is durable. Frequent reads and writes of applications' requests share statements as well. One
//! `UPDATE ... RETURNING` claims everything that may be used only once.
//!
//! Every function that reads or writes returns a [`StoreError`] if the database fails or does not answer in time, a row
//! cannot be read, the audit log cannot be extended, or the store is closed. Those in [`sql`] return a [`sql::Error`].
//! Sections `# Errors` name only what a caller handles beyond that.

mod audit;
mod engine;
mod error;
mod operations;
mod outcomes;
mod start;
mod store;
mod tables;

pub use audit::context::ChainContext;
pub use audit::lanes::SKEW as CLOCK_SKEW;
pub use audit::{AuditFilter, AuditPage, StoredEntry};
pub use engine::changes::waiters::ChangeListener;
pub use engine::connect::{ConnectionCounts, Database, DatabaseOptions};
pub use engine::migrations::MigrationPolicy;
pub use engine::migrations::list::MIGRATIONS;
pub use engine::migrations::migration::{
    Backfill, Migration, MigrationKind, MigrationOutcome, PostponedMigration,
};
pub use engine::migrations::older_instances::{HEARTBEAT_LIMIT, OlderInstance};
pub use engine::sql;
pub use engine::under_way::RequestsUnderWay;
pub(crate) use error::taken;
pub use error::{Result, StoreError, ValueError};
pub use operations::backlog::{Backlog, Backlogs};
pub use operations::backup::{
    BackupContent, EndedCounts, PostgresSnapshot, PostgresTarget, RESTORE_RULES, ReapplyCounts,
    RestoreOutcome, RestorePlan, RestoreTarget, Revocation, TableAction, TableRule,
    UnfinishedRestore, copy_sqlite,
};
pub use operations::bootstrap::Bootstrap;
pub use operations::diagnosis::{DatabaseProblem, Diagnosis};
pub use operations::overview::{QUARTER, SignInHour};
pub use operations::retention::Retention;
pub use outcomes::{DeviceWrite, ReplayCheck, Transition, VersionedWrite};
pub use store::Store;
pub use tables::accounts::AccountWrite;
pub use tables::accounts::user_account::{AccountAccess, UserAccount};
pub use tables::administration::action_approvals::ClaimedAction;
pub use tables::administration::idempotency::IdempotentRow;
pub use tables::administration::management::{AdminWrite, AdminWrites, ExpectedVersions};
pub use tables::applications::details_types::{MOST_DETAILS_TYPES, RegisteredDetailsType};
pub use tables::applications::listing::{ApplicationCursor, ApplicationOrder};
pub use tables::applications::usage::ApplicationUsage;
pub use tables::approvals::answer::{AnswerOutcome, AuditNote, DeviceAnswer};
pub use tables::approvals::cooldown::{CooldownCursor, RunningCooldown};
pub use tables::approvals::creation::RequestOutcome;
pub use tables::approvals::delivery::ChannelWork;
pub use tables::approvals::dispatch::DISPATCH_LEASE;
pub use tables::approvals::receipts::StoredReceipt;
pub use tables::approvals::repeat::{COUNTED_FOR, RepetitionCount};
pub use tables::approvals::report::{ReportFilter, ReportWrite};
pub use tables::approvals::request::{ApprovalRequest, BackchannelDraft, RefusedRequest};
pub use tables::backchannel::choices::{BackchannelChoice, PauseEvents};
pub use tables::backchannel::claim::{BackchannelClaim, BackchannelGrant};
pub use tables::backchannel::history::{BackchannelDay, PastBackchannelRequest};
pub use tables::backchannel::second_approval::{
    CountedSecond, MOST_SECOND_APPROVERS, SecondApprover,
};
pub use tables::backchannel::watched_request::WatchedRequest;
pub use tables::client_requests::ClientRequest;
pub use tables::devices::inbox_row::InboxSummary;
pub use tables::devices::passkeys::PasskeyUseOutcome;
pub use tables::devices::pending_recovery_codes::CodesConfirmation;
pub use tables::devices::recovery::{CodeUse, IsOwnLink, Recovery};
pub use tables::effective_access::{
    AccessFilter, AccessTotals, EffectiveAccess, GroupApplication, MOST_COUNTED, MemberUse,
};
pub use tables::groups::listing::{GroupOrder, GroupSummary, MOST_MEMBERS_COUNTED};
pub use tables::groups::members::MemberChange;
pub use tables::keys::saml_keys::KeyDeletion;
pub use tables::keys::sealed_values::{SealedPlace, SealedValue};
pub use tables::keys::wrapped_keys::{NewSealingKey, StoredKeys};
pub use tables::sessions::portal::OpenSession;
pub use tables::sessions::sign_on_state::SignOnState;
pub use tables::sessions::signed_in::SignedInSession;
pub use tables::sign_in::consents::{Consent, ConsentGrant};
pub use tables::sign_in::logins::completion::{Completion, IssuedGrant, NewSession, SignInRecord};
pub use tables::sign_in::open_sign_ins::OpenSignIns;
pub use tables::sign_in::passkey_sign_ins::{PasskeyApproval, PasskeyApprovalOutcome};
pub use tables::sign_in::pushed_request_row::PushedRequest;
pub use tables::sign_in::replay_cache::EarlierClaim;
pub use tables::sign_in::sign_on::ClaimedSignOn;
pub use tables::sign_in::test_sign_ins::{StepRecord, TestSignInResult};
pub use tables::tokens::{
    ClientTokenState, FamilyState, NewAccess, PresentedKey, PresentedState, Redemption, Rotation,
    RotationRequest, TokenFamily,
};
pub use tables::traces::ClaimTrace;
pub use tables::users::actions::UserAction;
pub use tables::users::guard::UserGuard;
pub use tables::users::invitations::NewInvitation;
pub use tables::users::listing::UserOrder;
pub use tables::users::row::UserSummary;
pub use tables::users::update::UserWrite;
