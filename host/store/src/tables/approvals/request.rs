//! A request for an approval, a request that a limit rejected, and the rows of unexpired requests with their locks.

use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::{Result, UserGuard};
use assent_model::action_approval::ActionApproval;
use assent_model::approval::{Approval, MatchingNumber, RequestKind};
use assent_model::audit::Entry;
use assent_model::backchannel::BackchannelRequest;
use assent_model::backchannel_delivery::NewResultDelivery;
use assent_model::caller_check::CallerCheck;
use assent_model::clock::Timestamp;
use assent_model::id::UserId;
use assent_model::secret::Digest;

/// A request for an approval.
#[derive(Clone, Debug)]
pub struct ApprovalRequest {
    /// The approval. The first free one of `numbers` becomes its number.
    pub approval: Approval,
    /// The row of the protected action; `None` for another subject.
    pub action: Option<ActionApproval>,
    /// The back-channel request with its limits; `None` for another subject.
    pub backchannel: Option<BackchannelDraft>,
    /// The check of a caller; `None` for another subject.
    pub caller_check: Option<CallerCheck>,
    /// The target user of the protected action, as named in its summary.
    pub target: Option<UserGuard>,
    /// The user of the name, even if the request is not sent.
    pub known: Option<UserId>,
    /// The way in which it began.
    pub kind: RequestKind,
    /// Whether channels carry it to the devices. A device needs no message if its own browser shows the login page.
    pub is_carried: bool,
    /// Whether a delegated channel without letters may carry it.
    pub without_binding: bool,
    /// The permitted numbers in random order: all of them, or the one that an application chose. Empty for a
    /// back-channel request without digits to type.
    pub numbers: Vec<MatchingNumber>,
    /// The entry for the audit log, written if it is about a user.
    pub entry: Entry,
}

/// A back-channel request before it is stored, with the limits that depend on earlier requests.
#[derive(Clone, Debug)]
pub struct BackchannelDraft {
    /// The row.
    pub request: BackchannelRequest,
    /// The delivery of its result; `None` if the application polls.
    pub delivery: Option<NewResultDelivery>,
    /// The most open requests of the application for the user.
    pub most_open: u32,
    /// The requests to the users of whom one must approve too. Devices receive them only if the user's do, or will
    /// after a cooldown.
    pub seconds: Vec<Approval>,
    /// A denial or a report at this time or later pauses the application for the user: no device receives the request.
    /// So do several requests without an answer.
    pub paused_since: Timestamp,
}

/// A request with a typed name that a limit rejected.
#[derive(Clone, Debug)]
pub struct RefusedRequest {
    /// The digest of the name.
    pub name_digest: Digest,
    /// The user of the name.
    pub known: Option<UserId>,
    /// The digest of the cookie of its browser.
    pub browser: Digest,
    /// When it was rejected.
    pub refused_at: Timestamp,
    /// When it would have expired. Until then it conflicts with requests that a channel without letters may carry.
    pub counts_until: Timestamp,
}

impl RefusedRequest {
    /// Returns this request as a rejected one.
    pub(crate) fn from_request(request: &ApprovalRequest) -> Self {
        let Approval {
            name_digest,
            browser,
            requested_at,
            expires_at,
            ..
        } = request.approval;
        Self {
            name_digest,
            known: request.known,
            browser,
            refused_at: requested_at,
            counts_until: expires_at,
        }
    }

    /// The rows that this request locks: those of the name and of the user.
    pub(crate) fn subjects(&self) -> (String, String) {
        subjects(self.name_digest, self.known)
    }
}

/// The rows of `approval_subjects` of a name and its user.
pub(crate) fn subjects(name: Digest, known: Option<UserId>) -> (String, String) {
    let name = name.to_text();
    // An unknown name executes the same statements.
    let user = known.map_or_else(|| name.clone(), |id| id.to_string());
    (name, user)
}

crate::engine::sql::row! {
    /// An unexpired request of the user or the name.
    pub(crate) struct UnexpiredRequest {
        pub(crate) id: String,
        pub(crate) number: Option<String>,
        pub(crate) kind: String,
        pub(crate) state: String,
        pub(crate) user_id: Option<String>,
        pub(crate) held_for: Option<String>,
        pub(crate) name_digest: String,
        pub(crate) browser: String,
        pub(crate) application_id: Option<String>,
        pub(crate) without_binding: i64,
        pub(crate) conflicted: i64,
    }
}

impl UnexpiredRequest {
    /// Whether the request began in this way.
    pub(crate) fn is_kind(&self, kind: RequestKind) -> bool {
        self.kind == kind.as_str()
    }

    /// Whether it reaches the devices of this user, now or after the user's cooldown.
    pub(crate) fn is_for(&self, user: &str) -> bool {
        [&self.user_id, &self.held_for]
            .into_iter()
            .flatten()
            .any(|recipient| recipient == user)
    }
}

/// Locks a user or a typed name until the end of the transaction, so that its requests, denials and reports are
/// serialized.
pub(crate) async fn lock_subject(db: &mut Connection, subject: &str, now: Timestamp) -> Result<()> {
    sql::query(
        "INSERT INTO approval_subjects (subject, locked_at) VALUES ($1, $2)
         ON CONFLICT (subject) DO UPDATE SET locked_at = excluded.locked_at",
    )
    .bind(subject.to_owned())
    .bind(now.millis())
    .execute(db)
    .await?;
    Ok(())
}

/// Locks the name and the user, in an order that is the same for all, and reads their unexpired requests.
pub(crate) async fn lock_and_read(
    db: &mut Connection,
    name: String,
    user: String,
    now: Timestamp,
) -> Result<Vec<UnexpiredRequest>> {
    let mut subjects = [&name, &user];
    subjects.sort_unstable();
    for subject in subjects {
        lock_subject(db, subject, now).await?;
    }
    let rows = sql::query_as(
        "SELECT id, number, kind, state, user_id, held_for, name_digest, browser, application_id, without_binding,
                conflicted
         FROM approvals
         WHERE (named_user = $1 OR name_digest = $2) AND expires_at > $3",
    )
    .bind(user)
    .bind(name)
    .bind(now.millis())
    .fetch_all(db)
    .await?;
    Ok(rows)
}
