//! Approvals of protected actions. An administrator's own device approves an action in the console. For a caller with a
//! token, the device of a named administrator approves.

use crate::administration::ProtectedActionKind;
use crate::clock::Timestamp;
use crate::id::{ActionApprovalId, Did, SessionId, UserId};
use crate::secret::Digest;

/// The kind of a protected action, and the ids of the affected objects. The database keeps them after the action was
/// used or ended. They contain no name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionOutline {
    /// The kind of action.
    pub kind: ProtectedActionKind,
    /// The affected user.
    pub target_user: Option<UserId>,
    /// The affected application.
    pub target_application: Option<Did>,
}

/// The content of a protected action. It is stored only while the approval can be granted and used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionProposal {
    /// The typed action, as JSON.
    pub action: String,
    /// The digest of the summary, which the administrator's device shows and signs.
    pub summary_digest: Digest,
    /// The digests of the login names in the action.
    pub names: Vec<Digest>,
}

/// The requester of an action approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionRequester {
    /// The administrator, in this session of the console.
    Session(SessionId),
    /// A caller with a token, which named the administrator.
    Token,
}

/// The approval of one protected action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionApproval {
    /// The row's id.
    pub id: ActionApprovalId,
    /// The administrator; the request goes to this user's devices.
    pub actor: UserId,
    /// The requester. No other caller can use the approval.
    pub requester: ActionRequester,
    /// The digest of the cookie of the console's browser, or of the caller with a token.
    pub browser: Digest,
    /// The digest of the action in its command. The approval permits no other command.
    pub action_digest: Digest,
    /// The kind of the action, and the ids of the affected objects.
    pub outline: ActionOutline,
    /// The content of the action; `None` after the approval was used or ended.
    pub proposal: Option<ActionProposal>,
    /// The time of the request.
    pub requested_at: Timestamp,
    /// The expiry of the approval.
    pub expires_at: Timestamp,
    /// The time of its use. An approval is single use.
    pub claimed_at: Option<Timestamp>,
}
