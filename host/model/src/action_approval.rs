//! Approvals of protected actions: an administrator's action in the console, which their own device approves first; or
//! an action of a caller with a token, which the device of a named administrator approves.

use crate::administration::ProtectedActionKind;
use crate::clock::Timestamp;
use crate::id::{ActionApprovalId, Did, SessionId, UserId};
use crate::secret::Digest;

/// The kind of a protected action, and the ids of what it concerns. It stays when the action itself was used or ended,
/// and contains no name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionOutline {
    /// The kind of action.
    pub kind: ProtectedActionKind,
    /// The user whom it concerns.
    pub target_user: Option<UserId>,
    /// The application that it concerns.
    pub target_application: Option<Did>,
}

/// A protected action, as long as its approval can be given and used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionProposal {
    /// The typed action, in JSON.
    pub action: String,
    /// The digest of the summary that the administrator's device shows and signs.
    pub summary_digest: Digest,
    /// The digests of the names in the action that a user would sign in with.
    pub names: Vec<Digest>,
}

/// Who requested the approval of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionRequester {
    /// The administrator, in this session of the console.
    Session(SessionId),
    /// A caller with a token, who named the administrator.
    Token,
}

/// The approval of one protected action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionApproval {
    /// The row's id.
    pub id: ActionApprovalId,
    /// The administrator, whose devices receive the request.
    pub actor: UserId,
    /// Who requested it. Nobody else can use the approval.
    pub requester: ActionRequester,
    /// The digest of the cookie of the console's browser, or of the caller with a token.
    pub browser: Digest,
    /// The digest of the action in its command. The approval permits no other command.
    pub action_digest: Digest,
    /// The kind of the action, and the ids of what it concerns.
    pub outline: ActionOutline,
    /// The action; `None` once the approval was used or ended.
    pub proposal: Option<ActionProposal>,
    /// When the action was requested.
    pub requested_at: Timestamp,
    /// Until when the approval can be used, if it is given.
    pub expires_at: Timestamp,
    /// When it was used. It can be used once.
    pub claimed_at: Option<Timestamp>,
}
