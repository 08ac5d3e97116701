//! Approval requests: the number of a new request, the pending request that it replaces, and whether it is sent to the
//! user's devices.
//!
//! All of it happens in one transaction that first locks the user and the typed name, on every instance. So no two
//! unexpired requests of a user or name have the same number, and the limits below hold under concurrency.

use crate::engine::rows::{cell, parse, to_json};
use crate::engine::sql::Connection;
use crate::engine::{deferred, sql};
use crate::tables::administration::action_approvals;
use crate::tables::approvals::limit::RequestLimit;
use crate::tables::approvals::request::{
    ApprovalRequest, RefusedRequest, UnexpiredRequest, lock_and_read, subjects,
};
use crate::tables::approvals::{conflict, delivery, dispatch, limit, repeat};
use crate::tables::backchannel::{
    choices, deliveries, device_authorization, request as backchannel, second_approval,
};
use crate::tables::caller_checks;
use crate::{Result, Store, StoreError, audit};
use assent_model::approval::{ApprovalSubject, MatchingNumber, RequestKind};
use assent_model::change::Change;
use assent_model::id::{LoginId, UserId};

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum RequestOutcome {
    /// The request must be sent to the devices of this user.
    Prompted(UserId),
    /// The login waits as for any other request, but the request is not sent. No user who may sign in has the name, a
    /// cooldown holds the request, or too many requests are pending.
    NotPrompted,
    /// Nothing was done. The login was answered, or waits for another request. Or the target user of the protected
    /// action was changed or deleted since its summary was rendered.
    NotOpen,
    /// Too many requests of the name or user are unexpired, so this one was rejected. See [`Store::refuse_request`].
    TooMany,
    /// Another unexpired request of the user has the digits that the application chose for its back-channel request.
    /// Nothing was stored.
    NumberTaken,
}

impl RequestOutcome {
    /// Returns the name of the outcome, for the log.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl Store {
    /// Adds an approval request, for which its login then waits. It replaces the pending request of the same browser
    /// for the same name.
    pub async fn request_approval(&self, request: ApprovalRequest) -> Result<RequestOutcome> {
        self.approval_writer
            .write(request, |db, request| Box::pin(add(db, request)))
            .await
    }

    /// Ends the requests that a channel without letters may carry and that conflict with a rejected request. The
    /// rejected request then counts as one that began.
    pub async fn refuse_request(&self, refused: RefusedRequest) -> Result<()> {
        self.approval_writer
            .write(refused, |db, refused| {
                Box::pin(async move {
                    let (name, user) = refused.subjects();
                    let unexpired = lock_and_read(db, name, user, refused.refused_at).await?;
                    conflict::record_refusal(db, &unexpired, refused).await
                })
            })
            .await
    }
}

/// Rejects a request for which there is no number.
async fn reject(
    db: &mut Connection,
    unexpired: &[UnexpiredRequest],
    request: &ApprovalRequest,
) -> Result<RequestOutcome> {
    if limit::is_typed(request.kind.as_str()) {
        let refused = RefusedRequest::from_request(request);
        conflict::record_refusal(db, unexpired, &refused).await?;
    }
    Ok(RequestOutcome::TooMany)
}

async fn add(db: &mut Connection, request: &ApprovalRequest) -> Result<RequestOutcome> {
    let approval = &request.approval;
    // A concurrent erasure of the user either waits until the transaction ends, and then finds the row, or came first.
    if let Some(target) = request.target {
        match target.lock(db).await {
            Err(StoreError::Stale) => return Ok(RequestOutcome::NotOpen),
            held => held?,
        };
    }
    let (name, user) = subjects(approval.name_digest, request.known);
    let unexpired = lock_and_read(db, name.clone(), user.clone(), approval.requested_at).await?;
    let number = match limit::free_number(&unexpired, request) {
        Ok(number) => number,
        Err(limit) => {
            let is_taken = request.backchannel.is_some() && limit == RequestLimit::Numbers;
            let limit = limit.as_str();
            tracing::info!(limit, "approval request rejected by a limit");
            return match is_taken {
                true => Ok(RequestOutcome::NumberTaken),
                false => reject(db, &unexpired, request).await,
            };
        }
    };
    let is_paused = match store_subject(db, request).await? {
        SubjectOutcome::NotOpen => return Ok(RequestOutcome::NotOpen),
        SubjectOutcome::Stored => false,
        SubjectOutcome::Paused => true,
    };
    let replaced = replace(db, request).await?;
    let pending: Vec<&UnexpiredRequest> = unexpired
        .iter()
        .filter(|other| other.state == "requested" && !replaced.contains(&other.id))
        .collect();
    // No channel carries a rejected request, so it matters only to one that a channel without letters may carry.
    let refusals = match request.without_binding {
        true => conflict::active_refusals(db, name, user, approval.requested_at).await?,
        false => Vec::new(),
    };
    let conflict = conflict::find_conflict(&unexpired, &refusals, request);
    let is_sent = conflict.is_none() && !is_paused && limit::has_place(&pending, request);
    let (reached, is_held) = insert(db, request, number, is_sent).await?;
    if let Some(conflict) = conflict {
        conflict::end_requests(
            db,
            conflict.with_request(approval.id),
            approval.requested_at,
        )
        .await?;
    }
    let reached = reached
        .map(|id| parse(&id, cell("approvals", "user_id", &approval.id.to_string())))
        .transpose()?;
    if request.is_carried {
        dispatch::insert(db, approval.id, approval.requested_at).await?;
    }
    record_changes(db, request, reached)?;
    let mut entry = request.entry.clone().with("prompted", reached.is_some());
    if is_held {
        entry = entry.with("held", true);
    }
    if let Some(draft) = request
        .backchannel
        .as_ref()
        .filter(|draft| draft.request.second.is_some())
    {
        second_approval::insert_all(db, draft, reached.is_some() || is_held).await?;
        entry = entry.with("second_approvers", draft.seconds.len());
    }
    match request.kind {
        // The limits of applications and of checks of callers bound these entries.
        RequestKind::Backchannel
        | RequestKind::DeviceAuthorization
        | RequestKind::SecondApproval
        | RequestKind::CallerCheck => {
            audit::append_if_about_user(db, &entry, true).await?;
        }
        _ => repeat::append(db, &entry, approval.name_digest).await?,
    }
    Ok(reached.map_or(RequestOutcome::NotPrompted, RequestOutcome::Prompted))
}

/// The outcome of the store of a request's subject.
enum SubjectOutcome {
    /// The login was answered, or waits for another request.
    NotOpen,
    /// The subject has this request.
    Stored,
    /// The same, but the user stopped the application, or a denial, a report or unanswered requests paused it.
    Paused,
}

/// Assigns the request to its login, or adds the row of its protected action, back-channel request or
/// check of a caller.
async fn store_subject(db: &mut Connection, request: &ApprovalRequest) -> Result<SubjectOutcome> {
    let subject = &request.approval.subject;
    let rows = (&request.action, &request.backchannel, &request.caller_check);
    match (subject, rows) {
        (ApprovalSubject::SignIn(login), (None, None, None)) => {
            Ok(match claim_login(db, *login, request).await? {
                true => SubjectOutcome::Stored,
                false => SubjectOutcome::NotOpen,
            })
        }
        (ApprovalSubject::ProtectedAction { id, .. }, (Some(action), None, None))
            if *id == action.id =>
        {
            action_approvals::insert(db, action).await?;
            Ok(SubjectOutcome::Stored)
        }
        (ApprovalSubject::Backchannel { id, .. }, (None, Some(draft), None))
            if *id == draft.request.id =>
        {
            let (request, since) = (&draft.request, draft.paused_since);
            let application = &request.application;
            let is_paused = choices::is_paused(db, request.user_id, application, since).await?;
            backchannel::insert(db, request).await?;
            if let Some(delivery) = &draft.delivery {
                deliveries::insert(db, request, delivery).await?;
            }
            Ok(match is_paused {
                true => SubjectOutcome::Paused,
                false => SubjectOutcome::Stored,
            })
        }
        (ApprovalSubject::DeviceAuthorization { id, .. }, (None, Some(draft), None))
            if *id == draft.request.id =>
        {
            let request = &draft.request;
            // A code is entered once, by one user.
            if !device_authorization::enter(db, *id, request.requested_at).await? {
                return Ok(SubjectOutcome::NotOpen);
            }
            backchannel::insert(db, request).await?;
            Ok(SubjectOutcome::Stored)
        }
        (ApprovalSubject::CallerCheck { id, .. }, (None, None, Some(check))) if *id == check.id => {
            caller_checks::insert(db, check).await?;
            Ok(SubjectOutcome::Stored)
        }
        _ => Err(StoreError::Internal(
            "the subject of an approval request does not match its row",
        )),
    }
}

/// Records the changes of the request. A request that reaches no device has the same number of changes, so that the
/// time does not reveal which names exist.
fn record_changes(
    db: &mut Connection,
    request: &ApprovalRequest,
    reached: Option<UserId>,
) -> Result<()> {
    let approval = &request.approval;
    if let ApprovalSubject::SignIn(login) = approval.subject {
        deferred::record_change(db, Change::Login(login))?;
    }
    // No request waits for the end of this approval yet.
    let inbox = reached.map_or(Change::Approval(approval.id), Change::Inbox);
    deferred::record_change(db, inbox)
}

/// Assigns the request to the login, which then waits for it. A QR sign-in may begin on the page of a login that waits
/// for a typed request, and then replaces that request. Returns `false` if the login was answered, or waits for another
/// request.
async fn claim_login(
    db: &mut Connection,
    login: LoginId,
    request: &ApprovalRequest,
) -> Result<bool> {
    let approval = &request.approval;
    let login = login.to_string();
    // The lock serializes the answer of the login and this claim.
    let held: Option<(Option<String>,)> = sql::query_as(
        "UPDATE logins SET approval_id = approval_id WHERE id = $1 AND answered_at IS NULL RETURNING approval_id",
    )
    .bind(&login)
    .fetch_optional(&mut *db)
    .await?;
    let Some((before,)) = held else {
        return Ok(false);
    };
    if let Some(before) = before {
        if request.kind != RequestKind::Qr {
            return Ok(false);
        }
        let replaced = sql::query(
            "UPDATE approvals SET state = 'replaced', decided_at = $2
             WHERE id = $1 AND kind IN ('typed', 'known_browser', 'stale_browser') AND expires_at > $2
               AND state IN ('requested', 'withdrawn', 'reported')",
        )
        .bind(&before)
        .bind(approval.requested_at.millis())
        .execute(&mut *db)
        .await?;
        if replaced == 0 {
            return Ok(false);
        }
        delivery::approval_ended(db, &before).await?;
    }
    sql::query("UPDATE logins SET approval_id = $2 WHERE id = $1")
        .bind(login)
        .bind(approval.id.to_string())
        .execute(db)
        .await?;
    Ok(true)
}

/// Replaces the pending request of the same browser, and returns the ids of the replaced requests.
async fn replace(db: &mut Connection, request: &ApprovalRequest) -> Result<Vec<String>> {
    let approval = &request.approval;
    let Some((statement, subject)) = limit::replaced_requests(request) else {
        return Ok(Vec::new());
    };
    let replaced: Vec<(String,)> = sql::query_as(statement)
        .bind(approval.browser.to_text())
        .bind(subject)
        .bind(approval.requested_at.millis())
        .fetch_all(&mut *db)
        .await?;
    let mut ids = Vec::with_capacity(replaced.len());
    for (id,) in replaced {
        delivery::approval_ended(db, &id).await?;
        ids.push(id);
    }
    Ok(ids)
}

/// Adds the row. Returns the user that receives the request on the devices; `None` if these have no room or a cooldown
/// holds it. Returns also whether a cooldown holds the request. A cooldown holds requests that neither a device nor a
/// console session began.
async fn insert(
    db: &mut Connection,
    request: &ApprovalRequest,
    number: Option<MatchingNumber>,
    is_sent: bool,
) -> Result<(Option<String>, bool)> {
    let approval = &request.approval;
    let user = approval.user_id.filter(|_| is_sent);
    let (mut login, mut action, mut backchannel, mut caller_check) = (None, None, None, None);
    match &approval.subject {
        ApprovalSubject::SignIn(id) => login = Some(id.to_string()),
        ApprovalSubject::ProtectedAction { id, .. } => action = Some(id.to_string()),
        ApprovalSubject::Backchannel { id, .. }
        | ApprovalSubject::DeviceAuthorization { id, .. } => backchannel = Some(id.to_string()),
        ApprovalSubject::CallerCheck { id, .. } => caller_check = Some(id.to_string()),
        // Its request adds it: see `second_approval`.
        ApprovalSubject::SecondApproval { .. } => {
            return Err(StoreError::Internal(
                "a second approval was requested alone",
            ));
        }
    }
    let (reached, held_for): (Option<String>, Option<String>) = sql::query_as(
        "INSERT INTO approvals (id, login_id, action_approval_id, user_id, held_for, name_digest, number, prompt,
                                requested_at, expires_at, attempts_left, state, application_id, scanned_by, kind,
                                browser, named_user, without_binding, same_browser, backchannel_id, caller_check_id)
         SELECT $1, $2, $16, CASE WHEN recipient.is_held = 1 THEN NULL ELSE $3 END,
                CASE WHEN recipient.is_held = 1 THEN $3 ELSE NULL END, $4, $5, $6, $7, $8, $9, 'requested', $10, $11,
                $12, $13, $14, $15, $17, $18, $19
         FROM (SELECT CASE WHEN CAST($11 AS TEXT) IS NULL
                            AND EXISTS (SELECT 1 FROM approval_cooldowns AS pause
                                        WHERE pause.user_id = $3 AND pause.cooldown_until > $7) THEN 1
                           ELSE 0 END AS is_held) AS recipient
         RETURNING user_id, held_for",
    )
    .bind(approval.id.to_string())
    .bind(login)
    .bind(user.map(|id| id.to_string()))
    .bind(approval.name_digest.to_text())
    .bind(number.map(|number| number.to_string()))
    .bind(to_json(&approval.shown)?)
    .bind(approval.requested_at.millis())
    .bind(approval.expires_at.millis())
    .bind(approval.attempts_left)
    .bind(approval.shown.application.as_ref().map(ToString::to_string))
    .bind(approval.scanned_by.map(|device| device.to_string()))
    .bind(request.kind.as_str())
    .bind(approval.browser.to_text())
    .bind(request.known.map(|id| id.to_string()))
    .bind(request.without_binding)
    .bind(action)
    .bind(approval.is_same_browser)
    .bind(backchannel)
    .bind(caller_check)
    .fetch_one(db)
    .await?;
    Ok((reached, held_for.is_some()))
}
