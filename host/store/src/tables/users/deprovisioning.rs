//! The end of sessions, requests and grants with a change of a user's, an account's or a device's rights. It is part of
//! the change's transaction, so that it takes effect at once and completely.

use std::time::Duration;

use crate::Result;
use crate::engine::rows::{cell, parse};
use crate::engine::sql::Connection;
use crate::engine::{deferred, sql};
use crate::tables::administration::action_approvals;
use crate::tables::approvals::{cooldown, delivery, receipts};
use crate::tables::backchannel::withdrawal;
use crate::tables::devices::passkeys;
use crate::tables::sessions;
use crate::tables::users::search_index;
use assent_model::change::Change;
use assent_model::clock::Timestamp;
use assent_model::id::{DeviceId, UserId};
use assent_model::secret::Digest;
use assent_model::user::LifecycleState;

/// The longest lifetime of an authorization code.
const LONGEST_CODE: Duration = Duration::from_secs(600);

/// The condition for an approval that neither a browser nor an application has used yet.
pub(crate) const IS_UNUSED: &str = "approvals.state = 'approved'
       AND (EXISTS (SELECT 1 FROM logins WHERE logins.id = approvals.login_id AND logins.answered_at IS NULL)
            OR EXISTS (SELECT 1 FROM action_approvals
                       WHERE action_approvals.id = approvals.action_approval_id
                         AND action_approvals.claimed_at IS NULL)
            OR EXISTS (SELECT 1 FROM backchannel_requests
                       WHERE backchannel_requests.id = COALESCE(approvals.backchannel_id, approvals.second_of)
                         AND backchannel_requests.claimed_at IS NULL))";

/// Withdraws the unused approvals of a user.
const WITHDRAW_UNUSED: &str = sql::statement!(
    "UPDATE approvals SET state = 'withdrawn', decided_at = $2 WHERE user_id = $1 AND ",
    IS_UNUSED
);

/// Ends a user's requests on devices, unused approvals, sessions and grants. It does so for each new state. Otherwise a
/// login that began before a suspension could leave an approval or a grant behind, and the end of the suspension would
/// restore it.
pub(crate) async fn deprovision_user(
    db: &mut Connection,
    user: UserId,
    state: LifecycleState,
    now: Timestamp,
) -> Result<()> {
    withdraw_pending_of(db, user, now).await?;
    let statements = match state {
        LifecycleState::Invited | LifecycleState::Active => [
            "UPDATE accounts SET grants_not_before = $2 WHERE user_id = $1 AND grants_not_before < $2",
            // An approval from before the suspension does not admit the user afterwards. Until then the browser shows
            // that the account is closed.
            WITHDRAW_UNUSED,
        ]
        .as_slice(),
        // A grant of this very millisecond ends too. So do links and recovery codes: their holder may be the reason for
        // the suspension.
        LifecycleState::Suspended | LifecycleState::Terminated => &[
            "UPDATE accounts
             SET grants_not_before = CASE WHEN grants_not_before > $2 THEN grants_not_before ELSE $2 + 1 END
             WHERE user_id = $1",
            "UPDATE enrolments SET is_withdrawn = 1
             WHERE user_id = $1 AND created_at <= $2 AND used_at IS NULL AND is_withdrawn = 0",
            "DELETE FROM invitation_mails
             WHERE enrolment_id IN (SELECT id FROM enrolments
                                    WHERE user_id = $1 AND created_at <= $2 AND is_withdrawn = 1)",
            "DELETE FROM recovery_codes WHERE user_id = $1 AND created_at <= $2",
        ],
    };
    for statement in statements {
        sql::query(*statement)
            .bind(user.to_string())
            .bind(now.millis())
            .execute(&mut *db)
            .await?;
    }
    sessions::log_out_everywhere(db, user, now).await
}

/// Ends a user's sessions, and the requests and approvals that could become sessions. Later sign-ins use the user's new
/// data.
pub(crate) async fn end_sign_ins_of(
    db: &mut Connection,
    user: UserId,
    now: Timestamp,
) -> Result<()> {
    withdraw_pending_of(db, user, now).await?;
    sql::query(WITHDRAW_UNUSED)
        .bind(user.to_string())
        .bind(now.millis())
        .execute(&mut *db)
        .await?;
    sessions::log_out_everywhere(db, user, now).await
}

/// Ends a user's requests, approvals and grants in one application only. The user's sessions continue in the others.
pub(crate) async fn deprovision_account(
    db: &mut Connection,
    user: String,
    application: String,
    state: LifecycleState,
    now: Timestamp,
) -> Result<()> {
    withdraw_pending_in(db, &user, &application, now).await?;
    let statements = if state.is_open() {
        [
            "UPDATE accounts SET grants_not_before = $3 WHERE user_id = $1 AND application_id = $2 AND \
             grants_not_before < $3",
            sql::statement!(
                "UPDATE approvals SET state = 'withdrawn', decided_at = $3
                 WHERE user_id = $1 AND application_id = $2 AND ",
                IS_UNUSED
            ),
        ]
        .as_slice()
    } else {
        &["UPDATE accounts
            SET grants_not_before = CASE WHEN grants_not_before > $3 THEN grants_not_before ELSE $3 + 1 END
            WHERE user_id = $1 AND application_id = $2"]
    };
    for statement in statements {
        sql::query(*statement)
            .bind(&user)
            .bind(&application)
            .bind(now.millis())
            .execute(&mut *db)
            .await?;
    }
    sessions::leave_application(db, user, application, now).await
}

/// Ends the requests of a user for one application, pending and held, and the back-channel requests that it has not
/// claimed.
pub(crate) async fn withdraw_pending_in(
    db: &mut Connection,
    user: &str,
    application: &str,
    now: Timestamp,
) -> Result<()> {
    // This comes first: a request that is released meanwhile is withdrawn with the others.
    cooldown::drop_held_in(db, user, application).await?;
    let withdrawn: Vec<(String,)> = sql::query_as(
        "UPDATE approvals SET state = 'withdrawn', decided_at = $3
         WHERE user_id = $1 AND application_id = $2 AND state = 'requested' RETURNING id",
    )
    .bind(user.to_owned())
    .bind(application.to_owned())
    .bind(now.millis())
    .fetch_all(&mut *db)
    .await?;
    for (id,) in withdrawn {
        delivery::approval_ended(db, &id).await?;
    }
    // An application that polls would otherwise use the approval when the user has access again.
    withdrawal::withdraw_in(db, user, application, now).await
}

/// Ends a user's pending requests, on every channel.
pub(crate) async fn withdraw_pending_of(
    db: &mut Connection,
    user: UserId,
    now: Timestamp,
) -> Result<()> {
    // This comes first: a request that is released meanwhile is withdrawn with the others.
    cooldown::drop_held(db, &user.to_string()).await?;
    let withdrawn: Vec<(String,)> = sql::query_as(
        "UPDATE approvals SET state = 'withdrawn', decided_at = $2 WHERE user_id = $1 AND state = 'requested'
         RETURNING id",
    )
    .bind(user.to_string())
    .bind(now.millis())
    .fetch_all(&mut *db)
    .await?;
    for (id,) in withdrawn {
        delivery::approval_ended(db, &id).await?;
    }
    // The user's devices show whether the user may sign in.
    deferred::record_change(db, Change::Inbox(user))
}

/// Ends the requests for an application that was disabled, for all devices and names, and the back-channel requests
/// that it has not claimed.
pub(crate) async fn withdraw_pending_for(
    db: &mut Connection,
    application: &str,
    now: Timestamp,
) -> Result<()> {
    let withdrawn: Vec<(String, Option<String>)> = sql::query_as(
        "UPDATE approvals SET state = 'withdrawn', decided_at = $2, held_for = NULL
         WHERE application_id = $1 AND state = 'requested'
         RETURNING id, user_id",
    )
    .bind(application.to_owned())
    .bind(now.millis())
    .fetch_all(&mut *db)
    .await?;
    for (id, user) in withdrawn {
        delivery::approval_ended(db, &id).await?;
        if let Some(user) = user {
            let user = parse(&user, cell("approvals", "user_id", &id))?;
            deferred::record_change(db, Change::Inbox(user))?;
        }
    }
    withdrawal::withdraw_for(db, application, now).await
}

/// Withdraws approvals of a device that no browser has used yet, and deletes its passkey.
pub(crate) async fn deprovision_device(
    db: &mut Connection,
    device: DeviceId,
    now: Timestamp,
) -> Result<()> {
    sql::query(sql::statement!(
        "UPDATE approvals SET state = 'withdrawn', decided_at = $2
         WHERE device_id = $1 AND user_id = (SELECT user_id FROM devices WHERE devices.id = $1) AND ",
        IS_UNUSED
    ))
    .bind(device.to_string())
    .bind(now.millis())
    .execute(&mut *db)
    .await?;
    passkeys::delete_passkey(db, device).await
}

/// Deletes the data of an erased user, and replaces the names of the accounts. Only identifiers without personal data
/// remain.
pub(crate) async fn erase_user(db: &mut Connection, user: UserId, now: Timestamp) -> Result<()> {
    let requests: Vec<(String,)> = sql::query_as(
        "SELECT id FROM approvals WHERE (named_user = $1 OR user_id = $1) AND expires_at > $2",
    )
    .bind(user.to_string())
    .bind(now.millis())
    .fetch_all(&mut *db)
    .await?;
    for (id,) in requests {
        let id = parse(&id, cell("approvals", "id", &id))?;
        deferred::record_change(db, Change::Approval(id))?;
    }
    let names: Vec<(String,)> =
        sql::query_as("DELETE FROM login_names WHERE user_id = $1 RETURNING name")
            .bind(user.to_string())
            .fetch_all(&mut *db)
            .await?;
    let names: Vec<String> = names.into_iter().map(|(name,)| name).collect();
    for name in &names {
        for statement in [
            // Requests that reached no device, for example during a cooldown, contain only the name.
            "DELETE FROM logins WHERE id IN (SELECT login_id FROM approvals WHERE name_digest = $1)",
            "DELETE FROM approval_subjects WHERE subject = $1",
        ] {
            sql::query(statement)
                .bind(Digest::sha256(name.as_bytes()).to_text())
                .execute(&mut *db)
                .await?;
        }
    }
    action_approvals::erase_user(db, user, &names, now).await?;
    receipts::erase_user(db, user, &names).await?;
    search_index::delete_user(db, user).await?;
    for statement in [
        "DELETE FROM logins WHERE id IN (SELECT login_id FROM approvals WHERE named_user = $1 OR user_id = $1)",
        "DELETE FROM test_sign_ins WHERE created_session IN (SELECT id FROM sessions WHERE user_id = $1)",
        "DELETE FROM logins WHERE session_id IN (SELECT id FROM sessions WHERE user_id = $1)",
        "DELETE FROM saml_logout_requests WHERE sid IN (SELECT sid FROM sessions WHERE user_id = $1)",
        "DELETE FROM logout_clients WHERE sid IN (SELECT sid FROM sessions WHERE user_id = $1)",
        "DELETE FROM idempotent_requests WHERE id IN (
             SELECT request_id FROM idempotent_request_subjects
             WHERE subject IN (SELECT CAST($1 AS TEXT) UNION ALL SELECT id FROM accounts WHERE user_id = $1))",
        "DELETE FROM devices WHERE user_id = $1",
        "DELETE FROM enrolments WHERE user_id = $1",
        "DELETE FROM recovery_codes WHERE user_id = $1",
        "DELETE FROM external_authenticators WHERE user_id = $1",
        "DELETE FROM approval_cooldowns WHERE user_id = $1",
        "DELETE FROM reports WHERE user_id = $1",
        "DELETE FROM approval_subjects WHERE subject = $1",
        "DELETE FROM consents WHERE user_id = $1",
        "DELETE FROM backchannel_requests WHERE user_id = $1",
        "DELETE FROM backchannel_choices WHERE user_id = $1",
        // The device of another user showed the name of an erased administrator.
        "DELETE FROM caller_checks WHERE user_id = $1 OR asked_by_kind = 'user' AND asked_by = $1",
        "DELETE FROM group_members WHERE user_id = $1",
        "DELETE FROM sessions WHERE user_id = $1",
        "DELETE FROM last_sign_ins WHERE user_id = $1",
        "DELETE FROM account_use WHERE user_id = $1",
        "DELETE FROM claim_traces WHERE user_id = $1",
    ] {
        sql::query(statement).bind(user.to_string()).execute(&mut *db).await?;
    }
    sql::query(
        "UPDATE accounts SET name = 'erased-' || id, roles = '[]', state = 'terminated', version = version + 1,
                             updated_at = $2
         WHERE user_id = $1",
    )
    .bind(user.to_string())
    .bind(now.millis())
    .execute(&mut *db)
    .await?;
    // Unused codes hold claims. They are among the families with the earliest expiry, for which there is an index.
    sql::query("UPDATE token_families SET claims = '{}' WHERE retain_until <= $2 AND user_id = $1")
        .bind(user.to_string())
        .bind((now + LONGEST_CODE).millis())
        .execute(db)
        .await?;
    Ok(())
}
