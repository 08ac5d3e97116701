//! Commands: what administrators ask for. A request is parsed once into a command; the command is planned, approved
//! where it is protected, and executed as planned.

use std::sync::Arc;

use serde::Serialize;

use super::action_approvals::{self, Console, PendingAction, TokenRequest};
use super::{AdminError, RequiredApproval, Result, invalid};
use crate::domain::protected_actions::{ChangedMember, ProtectedAction, Summary, summarize};
use crate::domain::{InternalError, Services};
use assent_model::audit::AuditContext;
use assent_model::caller::Caller;
use assent_model::caller::Principal;
use assent_model::command::{Classified, Member};
use assent_model::id::{ActionApprovalId, ApprovalId};
use assent_model::language::Language;
use assent_model::login::BrowserContext;
use assent_model::name::LoginName;
use assent_model::secret::Digest;
use assent_model::user::{LifecycleState, User};
use assent_store::{ClaimedAction, StoreError};
use assent_telemetry::SPANS;

/// What an administrator asks for. Each of its fields has a class. An approval is for its serialized form, so that must
/// contain each value of the request, or the digest of a large one.
pub trait AdminCommand: Classified + Serialize + Sync {
    /// What is to be done, and under which versions.
    type Plan: Send;
    /// The result.
    type Outcome: Send;

    /// Authorizes the caller, reads the current state, and refuses whatever the execution would refuse, so that nobody
    /// approves in vain. It changes nothing.
    ///
    /// # Errors
    /// [`AdminError`], as the execution would be.
    fn plan(
        &self,
        context: &AdminContext,
    ) -> impl Future<Output = Result<Planned<Self::Plan>>> + Send;

    /// Does what was planned, as long as the versions that the plan read are current. Only [`AdminContext::run`] has an
    /// approved plan.
    ///
    /// # Errors
    /// [`AdminError`].
    fn execute(
        context: &AdminContext,
        approved: ApprovedPlan<Self::Plan>,
        by: &AuditContext,
    ) -> impl Future<Output = Result<Execution<Self::Outcome>>> + Send;

    /// The digest of all that the command says.
    ///
    /// # Errors
    /// If the command cannot be serialized.
    fn digest(&self) -> serde_json::Result<Digest> {
        Ok(Digest::sha256(&serde_json::to_vec(self)?))
    }
}

/// A plan, and the protected action that it is, if it is one.
pub type Planned<P> = assent_model::command::AuthorizedPlan<P, ProtectedAction>;

/// A plan that may be executed: it needs no approval, or has one. Only [`AdminContext::run`] creates it.
#[derive(Debug)]
pub struct ApprovedPlan<P>(P);

impl<P> ApprovedPlan<P> {
    /// The plan.
    pub fn into_plan(self) -> P {
        self.0
    }

    /// A part of the plan, which is approved as the whole is, and the rest.
    pub fn split<Q, R>(self, split: impl FnOnce(P) -> (Q, R)) -> (ApprovedPlan<Q>, R) {
        let (part, rest) = split(self.0);
        (ApprovedPlan(part), rest)
    }
}

/// What came of an execution.
#[derive(Debug)]
pub enum Execution<T> {
    /// It is done.
    Done(T),
    /// The state is not the planned one any more; nothing was done.
    Overtaken,
}

impl<T> Execution<T> {
    /// The execution with another outcome.
    pub(super) fn map<U>(self, outcome: impl FnOnce(T) -> U) -> Execution<U> {
        match self {
            Self::Done(done) => Execution::Done(outcome(done)),
            Self::Overtaken => Execution::Overtaken,
        }
    }

    /// The execution of a write: [`StoreError::Stale`] means that the state moved.
    ///
    /// # Errors
    /// All other errors of the store.
    pub(super) fn from_write(written: std::result::Result<T, StoreError>) -> Result<Self> {
        match written {
            Ok(done) => Ok(Self::Done(done)),
            Err(StoreError::Stale) => Ok(Self::Overtaken),
            Err(error) => Err(error.into()),
        }
    }
}

/// Which versions of a resource a request may change (RFC 9110 section 13.1.1).
#[derive(Clone, Debug, Default)]
pub enum ExpectedVersion {
    /// Every version.
    #[default]
    Any,
    /// One of these.
    OneOf(Vec<i64>),
}

impl ExpectedVersion {
    /// Refuses another version than the expected one.
    ///
    /// # Errors
    /// [`AdminError::Stale`].
    pub fn check(&self, version: i64) -> Result<()> {
        match self {
            Self::OneOf(versions) if !versions.contains(&version) => Err(AdminError::Stale),
            _ => Ok(()),
        }
    }
}

/// The approval that a request names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedApproval {
    /// None.
    None,
    /// Something that is no identifier.
    Unreadable,
    /// The approval with this identifier.
    Id(ActionApprovalId),
}

/// Who asks, where, and under which conditions.
#[derive(Clone, Debug)]
pub struct AdminContext {
    /// The instance.
    pub services: Arc<Services>,
    /// The caller.
    pub caller: Caller,
    /// The versions that the request may change.
    pub expected: ExpectedVersion,
    approval_source: ApprovalSource,
    approval: NamedApproval,
    language: Language,
}

/// Who approves a protected action.
#[derive(Clone, Debug)]
enum ApprovalSource {
    /// No approval is required: the caller has a token.
    None,
    /// The administrator, in a session of the console.
    Console(Box<Console>),
    /// The administrator that the caller with a token named.
    Administrator(Box<TokenRequest>),
}

/// How often a command is planned before the caller has to send it again.
const ATTEMPTS: u32 = 8;

impl AdminContext {
    /// A caller without a console session, and so without a device to ask.
    pub fn new(services: Arc<Services>, caller: Caller) -> Self {
        Self {
            services,
            caller,
            expected: ExpectedVersion::Any,
            approval_source: ApprovalSource::None,
            approval: NamedApproval::None,
            language: Language::English,
        }
    }

    /// The operator, at the command line of this instance.
    pub fn of_operator(services: Arc<Services>) -> Self {
        let caller = Caller {
            by: AuditContext::SERVER,
            principal: Principal::AdminToken,
        };
        Self::new(services, caller)
    }

    /// The same, in a session of the console.
    #[must_use]
    pub fn in_console(self, console: Console) -> Self {
        Self {
            approval_source: ApprovalSource::Console(Box::new(console)),
            ..self
        }
    }

    /// The same, with the approval that the request names.
    #[must_use]
    pub fn naming(self, approval: NamedApproval) -> Self {
        Self { approval, ..self }
    }

    /// The same, with the approval of the administrator with this name, whose devices are asked.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] in the console, or if there is no active administrator with this name.
    pub async fn approved_by(self, name: &str, place: BrowserContext) -> Result<Self> {
        const FIELD: &str = "approve_by";
        if self.console().is_some() {
            return Err(invalid(
                FIELD,
                "in the console you approve on your own device; send the request without it",
            ));
        }
        let found = match name.parse::<LoginName>() {
            Ok(name) => self.services.store.user_by_login(&name).await?,
            Err(_) => None,
        };
        let is_administrator =
            |user: &User| user.console_role.is_some() && user.state == LifecycleState::Active;
        let administrator = found
            .filter(is_administrator)
            .ok_or_else(|| invalid(FIELD, "expected the name of an active administrator"))?;
        let approval_source = ApprovalSource::Administrator(Box::new(TokenRequest {
            administrator,
            caller: self.caller.clone(),
            context: place,
        }));
        Ok(Self {
            approval_source,
            ..self
        })
    }

    /// The administrator that a caller with a token named to approve.
    pub(super) fn administrator(&self) -> Option<&User> {
        match &self.approval_source {
            ApprovalSource::Administrator(token) => Some(&token.administrator),
            ApprovalSource::None | ApprovalSource::Console(_) => None,
        }
    }

    /// The same, for these versions only.
    #[must_use]
    pub fn expecting(self, expected: ExpectedVersion) -> Self {
        Self { expected, ..self }
    }

    /// The same, with the summary of a protected action in this language.
    #[must_use]
    pub fn in_language(self, language: Language) -> Self {
        Self { language, ..self }
    }

    /// The console session of the caller, if they use one.
    pub fn console(&self) -> Option<&Console> {
        match &self.approval_source {
            ApprovalSource::Console(console) => Some(console),
            ApprovalSource::None | ApprovalSource::Administrator(_) => None,
        }
    }

    /// Plans a command and executes it. In the console, a protected action needs the approval that the request names;
    /// without one, the administrator's device is asked. If the state changes between plan and execution, the command
    /// is planned again, and an approval holds only if the action and its summary are the same.
    ///
    /// # Errors
    /// [`AdminError`]; [`AdminError::ApprovalRequired`] if the device was asked.
    pub async fn run<C: AdminCommand>(&self, command: &C) -> Result<C::Outcome> {
        self.run_with(command, async || {}).await
    }

    /// The same, and does something after each planning, before the execution. A test of races changes the state there.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    #[tracing::instrument(target = SPANS, skip_all, name = "admin.command")]
    pub async fn run_with<C: AdminCommand>(
        &self,
        command: &C,
        after_planning: impl AsyncFn(),
    ) -> Result<C::Outcome> {
        let mut used: Option<UsedApproval> = None;
        for _ in 0..ATTEMPTS {
            let (plan, action) = command.plan(self).await?.into_parts();
            let mut by = self.caller.by.clone();
            if let Some(action) =
                action.filter(|_| !matches!(self.approval_source, ApprovalSource::None))
            {
                // The approval is for all that the command says, what is harmless of it too.
                let digest = command
                    .digest()
                    .and_then(|command| action.digest_in(command))
                    .map_err(InternalError::from)?;
                let approval = self.approved((&action, digest), used.take()).await?;
                by = by.with_approval(approval.id);
                used = Some(approval);
            }
            after_planning().await;
            if let Execution::Done(outcome) = C::execute(self, ApprovedPlan(plan), &by).await? {
                return Ok(outcome);
            }
        }
        Err(AdminError::Conflict(
            "others changed the same objects meanwhile, several times; send the request again",
        ))
    }

    /// The approval for an action: the one that this request used before, if it is for the same, or the one that it
    /// names.
    async fn approved(
        &self,
        (action, digest): (&ProtectedAction, Digest),
        used: Option<UsedApproval>,
    ) -> Result<UsedApproval> {
        const NOT_APPROVED: &str = "the approval is not for this request, was used before, expired, or the request \
                                    would have another effect \
                                    now; send the request without X-Assent-Action-Approval for a new approval";
        let summary = summarize(&self.services.store, action).await?;
        let claimed = ClaimedAction {
            action: digest,
            summary: summary.digest(),
        };
        if let Some(used) = used {
            return if used.action == claimed {
                Ok(used)
            } else {
                Err(AdminError::Forbidden(NOT_APPROVED))
            };
        }
        let approval = match self.approval {
            NamedApproval::None => {
                let asked = self.ask((action, digest), &summary).await?;
                return Err(match asked {
                    Some(pending) => AdminError::ApprovalRequired(Box::new(RequiredApproval {
                        pending,
                        summary,
                        language: self.language,
                    })),
                    None => AdminError::Forbidden(match self.approval_source {
                        ApprovalSource::Administrator(_) => CANNOT_ASK_NAMED,
                        ApprovalSource::None | ApprovalSource::Console(_) => CANNOT_ASK,
                    }),
                });
            }
            NamedApproval::Unreadable => None,
            NamedApproval::Id(id) => self.claim(id, claimed).await?,
        };
        Ok(UsedApproval {
            id: approval.ok_or(AdminError::Forbidden(NOT_APPROVED))?,
            action: claimed,
        })
    }
}

impl AdminContext {
    /// Requests the approval of an action. `None` if no device can be asked.
    async fn ask(
        &self,
        action: (&ProtectedAction, Digest),
        summary: &Summary,
    ) -> Result<Option<PendingAction>> {
        let services = &self.services;
        Ok(match &self.approval_source {
            ApprovalSource::None => None,
            ApprovalSource::Console(console) => {
                action_approvals::ask(services, console, action, summary).await?
            }
            ApprovalSource::Administrator(token) => {
                action_approvals::ask_administrator(services, token, action, summary).await?
            }
        })
    }

    /// Uses an approval, if it is for this action.
    async fn claim(
        &self,
        id: ActionApprovalId,
        action: ClaimedAction,
    ) -> Result<Option<ApprovalId>> {
        let services = &self.services;
        Ok(match &self.approval_source {
            ApprovalSource::None => None,
            ApprovalSource::Console(console) => {
                action_approvals::claim(services, &**console, id, action).await?
            }
            ApprovalSource::Administrator(token) => {
                action_approvals::claim_of_administrator(services, token, id, action).await?
            }
        })
    }
}

/// Why no device of the administrator in the console can be asked.
pub const CANNOT_ASK: &str = "no device can receive the approval request: there were too many requests in the last \
     minute, or the device with which you signed in was removed; wait a minute, or sign in again";
/// Why no device of a named administrator can be asked.
pub const CANNOT_ASK_NAMED: &str = "the named administrator cannot receive the approval request: no device, a \
     cooldown, or too many requests; try later, or name another administrator";

/// An approval that this request used.
struct UsedApproval {
    id: ApprovalId,
    action: ClaimedAction,
}

/// The members of a request that its summary lists, in the order of their names: the protected ones, or all.
pub(super) fn changed_members(members: Vec<Member>, all: bool) -> Vec<ChangedMember> {
    let mut changed: Vec<ChangedMember> = members
        .into_iter()
        .filter(|member| all || member.is_protected)
        .map(|Member { name, value, .. }| ChangedMember {
            name: name.to_owned(),
            value,
        })
        .collect();
    changed.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    changed
}
