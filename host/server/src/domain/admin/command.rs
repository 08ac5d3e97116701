//! Commands: the requests of administrators. A request is parsed once into a command. The command is planned, approved
//! if it is protected, and executed as planned.

use std::sync::Arc;

use serde::Serialize;

use super::action_approvals::{self, Console, PendingAction, TokenRequest};
use super::execution::{Execution, Recorder};
use super::{AdminError, RequiredApproval, Result, invalid};
use crate::domain::protected_actions::{ChangedMember, ProtectedAction, Summary, summarize};
use crate::domain::{InternalError, Services};
use assent_model::audit::AuditContext;
use assent_model::caller::Caller;
use assent_model::caller::Principal;
use assent_model::command::{Classified, Member, MemberClass};
use assent_model::id::{ActionApprovalId, ApprovalId};
use assent_model::language::Language;
use assent_model::login::BrowserContext;
use assent_model::name::LoginName;
use assent_model::secret::Digest;
use assent_model::user::{LifecycleState, User};
use assent_store::ClaimedAction;
use assent_telemetry::SPANS;

/// A request of an administrator. Each field has a class. An approval is for the serialized form of the command. That
/// form must therefore contain each value of the request, or the digest of a large value.
pub trait AdminCommand: Classified + Serialize + Sync {
    /// The planned changes, with the versions that they expect.
    type Plan: Send;
    /// The result.
    type Outcome: Send;

    /// Authorizes the caller, reads the current state, and returns each error that the execution would return, so that
    /// no administrator approves in vain. It changes nothing.
    ///
    /// # Errors
    /// [`AdminError`], like the execution.
    fn plan(
        &self,
        context: &AdminContext,
    ) -> impl Future<Output = Result<Planned<Self::Plan>>> + Send;

    /// Executes the plan, if the versions that the plan read are still current. Only [`AdminContext::run`] has an
    /// approved plan.
    ///
    /// # Errors
    /// [`AdminError`].
    fn execute(
        approved: ApprovedPlan<'_, Self::Plan>,
    ) -> impl Future<Output = Result<Execution<Self::Outcome>>> + Send;

    /// Returns the digest of the complete command.
    ///
    /// # Errors
    /// If the command cannot be serialized.
    fn digest(&self) -> serde_json::Result<Digest> {
        Ok(Digest::sha256(&serde_json::to_vec(self)?))
    }
}

/// A plan, with its protected action if it is one.
pub type Planned<P> = assent_model::command::AuthorizedPlan<P, ProtectedAction>;

/// A plan that may be executed: it needs no approval, or has one. Only [`AdminContext::run`] creates it.
#[derive(Debug)]
pub struct ApprovedPlan<'a, P> {
    plan: P,
    context: &'a AdminContext,
    by: &'a AuditContext,
}

impl<'a, P> ApprovedPlan<'a, P> {
    /// Returns the plan, and the recorder of its writes.
    pub(crate) fn into_parts(self) -> (P, Recorder<'a>) {
        let recorder = Recorder::of_command(&self.context.services, self.by);
        (self.plan, recorder)
    }

    /// Returns the console session of the caller, if there is one.
    pub(super) fn console(&self) -> Option<&'a Console> {
        self.context.console()
    }

    /// Splits the plan into a part, which is approved like the whole, and the rest.
    pub fn split<Q, R>(self, split: impl FnOnce(P) -> (Q, R)) -> (ApprovedPlan<'a, Q>, R) {
        let (plan, rest) = split(self.plan);
        let Self { context, by, .. } = self;
        (ApprovedPlan { plan, context, by }, rest)
    }
}

/// The versions of a resource that a request may change (RFC 9110 section 13.1.1).
#[derive(Clone, Debug, Default)]
pub enum ExpectedVersion {
    /// Every version.
    #[default]
    Any,
    /// One of these versions.
    OneOf(Vec<i64>),
}

impl ExpectedVersion {
    /// Rejects a version that is not expected.
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
    /// The request names no approval.
    None,
    /// The request names an invalid identifier.
    Unreadable,
    /// The approval with this identifier.
    Id(ActionApprovalId),
}

/// The context of a request: the instance, the caller and the preconditions.
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

/// The source of the approval of a protected action.
#[derive(Clone, Debug)]
enum ApprovalSource {
    /// No approval is required: the caller has a token.
    None,
    /// The administrator, in a console session.
    Console(Box<Console>),
    /// The administrator named by the caller with a token.
    Administrator(Box<TokenRequest>),
}

/// The number of times that a command is planned before the caller must send it again.
const ATTEMPTS: u32 = 8;

impl AdminContext {
    /// Returns the context of a caller without a console session, and therefore without a device for approvals.
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

    /// Returns the context of the operator, on the command line of this instance.
    pub fn of_operator(services: Arc<Services>) -> Self {
        let caller = Caller {
            by: AuditContext::SERVER,
            principal: Principal::AdminToken,
        };
        Self::new(services, caller)
    }

    /// Returns the context with a console session.
    #[must_use]
    pub fn in_console(self, console: Console) -> Self {
        Self {
            approval_source: ApprovalSource::Console(Box::new(console)),
            ..self
        }
    }

    /// Returns the context with the approval that the request names.
    #[must_use]
    pub fn naming(self, approval: NamedApproval) -> Self {
        Self { approval, ..self }
    }

    /// Returns the context with this administrator as the approver, whose devices receive the approval requests.
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

    /// Returns the administrator that a caller with a token named as the approver.
    pub(super) fn administrator(&self) -> Option<&User> {
        match &self.approval_source {
            ApprovalSource::Administrator(token) => Some(&token.administrator),
            ApprovalSource::None | ApprovalSource::Console(_) => None,
        }
    }

    /// Returns the context for only these versions.
    #[must_use]
    pub fn expecting(self, expected: ExpectedVersion) -> Self {
        Self { expected, ..self }
    }

    /// Returns the context with the language for the summary of a protected action.
    #[must_use]
    pub fn in_language(self, language: Language) -> Self {
        Self { language, ..self }
    }

    /// Returns the console session of the caller, if there is one.
    pub fn console(&self) -> Option<&Console> {
        match &self.approval_source {
            ApprovalSource::Console(console) => Some(console),
            ApprovalSource::None | ApprovalSource::Administrator(_) => None,
        }
    }

    /// Plans a command and executes it. In the console, a protected action needs the approval that the request names.
    /// Without one, the administrator's device receives an approval request. If the state changes between plan and
    /// execution, the command is planned again. An approval remains valid only if the action and its summary are the
    /// same.
    ///
    /// # Errors
    /// [`AdminError`]; [`AdminError::ApprovalRequired`] if the device received an approval request.
    pub async fn run<C: AdminCommand>(&self, command: &C) -> Result<C::Outcome> {
        self.run_with(command, async || {}).await
    }

    /// Runs a command like [`run`](Self::run), and calls a function after each planning, before the execution. Tests of
    /// races use it to change the state.
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
                // The approval covers all values of the command, including the harmless ones.
                let digest = command
                    .digest()
                    .and_then(|command| action.digest_in(command))
                    .map_err(InternalError::from)?;
                let approval = self.approval_of(&action, digest, used.take()).await?;
                by = by.with_approval(approval.id);
                used = Some(approval);
            }
            after_planning().await;
            let approved = ApprovedPlan {
                plan,
                context: self,
                by: &by,
            };
            if let Execution::Done(outcome) = C::execute(approved).await? {
                return Ok(outcome);
            }
        }
        Err(AdminError::Conflict(
            "other requests changed the same objects several times; send the request again",
        ))
    }

    /// Returns the approval of an action. It is the one that this request used before, if it is for the same action, or
    /// the one that the request names.
    async fn approval_of(
        &self,
        action: &ProtectedAction,
        digest: Digest,
        used: Option<UsedApproval>,
    ) -> Result<UsedApproval> {
        const NOT_APPROVED: &str = "the approval is not for this request, was used before, expired, or the request \
                                    would have another effect \
                                    now; send the request without X-Assent-Action-Approval for a new approval";
        let summary = summarize(&self.services.store, action).await?;
        if summary.is_too_long() {
            return Err(AdminError::Conflict(TOO_LONG));
        }
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
                let asked = self.ask(action, digest, &summary).await?;
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
    /// Requests the approval of an action. Returns `None` if no device can receive the request.
    async fn ask(
        &self,
        action: &ProtectedAction,
        digest: Digest,
        summary: &Summary,
    ) -> Result<Option<PendingAction>> {
        let services = &self.services;
        Ok(match &self.approval_source {
            ApprovalSource::None => None,
            ApprovalSource::Console(console) => {
                action_approvals::ask(services, console, action, digest, summary).await?
            }
            ApprovalSource::Administrator(token) => {
                action_approvals::ask_administrator(services, token, action, digest, summary)
                    .await?
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

/// The error if an administrator could not read the summary on a device.
const TOO_LONG: &str = "the changes are too many for one approval on a device, which shows each of them; divide the \
     request into parts, or send it with a token and without approve_by";
/// The error if no device of the administrator in the console can receive the request.
pub const CANNOT_ASK: &str = "no device can receive the approval request: there were too many requests in the last \
     minute, or the device with which you signed in was removed; wait a minute, or sign in again";
/// The error if no device of a named administrator can receive the request.
pub const CANNOT_ASK_NAMED: &str = "the named administrator cannot receive the approval request: no device, a \
     cooldown, or too many requests; try later, or name another administrator";

/// An approval that this request used.
struct UsedApproval {
    id: ApprovalId,
    action: ClaimedAction,
}

/// Returns the members of a request that its summary lists, in the order of their names: the protected members, or all.
pub(super) fn changed_members(members: Vec<Member>, all: bool) -> Vec<ChangedMember> {
    let mut changed: Vec<ChangedMember> = members
        .into_iter()
        .filter(|member| all || member.class != MemberClass::Harmless)
        .map(|Member { name, value, .. }| ChangedMember {
            name: name.to_owned(),
            value,
        })
        .collect();
    changed.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    changed
}
