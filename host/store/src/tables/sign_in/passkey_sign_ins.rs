//! Sign-ins with passkeys: the user's agreement, the challenge of a login page, and the approval by an assertion.

use crate::engine::deferred;
use crate::engine::rows::to_json;
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::tables::approvals::{cooldown, receipts};
use crate::tables::devices;
use crate::tables::devices::locks;
use crate::tables::devices::passkeys::{insert, record_use};
use crate::tables::users::deprovisioning::IS_UNUSED;
use crate::{DeviceWrite, PasskeyUseOutcome, Result, Store, StoreError, audit};
use assent_model::approval::{Approval, ApprovalSubject, RequestKind};
use assent_model::audit::Entry;
use assent_model::change::Change;
use assent_model::clock::Timestamp;
use assent_model::id::{DeviceId, LoginId, UserId};
use assent_model::passkey::{DevicePasskey, PasskeyUse};
use assent_model::receipt::content::NewReceipt;
use assent_model::secret::Digest;

/// An approval by a passkey on the login page, after the verification of its assertion.
#[derive(Clone, Debug)]
pub struct PasskeyApproval {
    /// The approval. Its subject is the sign-in, and its user that of the device.
    pub approval: Approval,
    /// The user.
    pub user: UserId,
    /// The device of the passkey.
    pub device: DeviceId,
    /// The passkey after its use.
    pub used: PasskeyUse,
    /// The entry for the audit log.
    pub entry: Entry,
    /// The receipt, if receipts are kept.
    pub receipt: Option<NewReceipt>,
}

/// The outcome of an approval by a passkey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum PasskeyApprovalOutcome {
    /// The sign-in is approved.
    Approved,
    /// Nothing was done. The device or the user is not active. Or the user withdrew the agreement or has a closed
    /// account. Or another use had this signature counter or a greater one.
    Rejected,
    /// The sign-in was answered, or waits for another approval.
    NotOpen,
}

impl Store {
    /// Adds a passkey for sign-ins to a device. It replaces the passkey with the credential id `replaces`, or is the
    /// first one of a device without a passkey.
    ///
    /// [`StoreError::Taken`] if the device has another passkey, or another device has the same passkey.
    pub async fn add_sign_in_passkey(
        &self,
        passkey: DevicePasskey,
        replaces: Option<Vec<u8>>,
        entries: Vec<Entry>,
    ) -> Result<DeviceWrite> {
        let input = (passkey, replaces, entries);
        self.write(input, |db, (passkey, replaces, entries)| {
            Box::pin(async move {
                locks::lock_device(db, passkey.device_id).await?;
                if let Some(old) = replaces {
                    sql::query("DELETE FROM passkeys WHERE device_id = $1 AND credential_id = $2")
                        .bind(passkey.device_id.to_string())
                        .bind(hex::encode(old))
                        .execute(&mut *db)
                        .await?;
                }
                if !insert(db, passkey).await? {
                    return Ok(DeviceWrite::Inactive);
                }
                audit::append(db, entries).await?;
                Ok(DeviceWrite::Done)
            })
        })
        .await
    }

    /// Records that the user, by an assertion, agreed to sign in with a device's discoverable passkey.
    pub async fn allow_passkey_sign_in(
        &self,
        device: DeviceId,
        used: PasskeyUse,
        at: Timestamp,
        entries: Vec<Entry>,
    ) -> Result<PasskeyUseOutcome> {
        self.write((used, entries), move |db, (used, entries)| {
            Box::pin(async move {
                if record_use(db, device, used).await? == PasskeyUseOutcome::Rejected {
                    return Ok(PasskeyUseOutcome::Rejected);
                }
                let agreed = sql::query(
                    "UPDATE passkeys SET sign_in = 'agreed', agreed_at = $2
                     WHERE device_id = $1 AND sign_in = 'declined'",
                )
                .bind(device.to_string())
                .bind(at.millis())
                .execute(&mut *db)
                .await?;
                if agreed > 0 {
                    audit::append(db, entries).await?;
                }
                Ok(PasskeyUseOutcome::Accepted)
            })
        })
        .await
    }

    /// Withdraws the agreement to sign in with a device's passkey, and its approvals that no browser has used yet.
    /// Returns whether there was an agreement.
    pub async fn stop_passkey_sign_in(
        &self,
        user: UserId,
        device: DeviceId,
        now: Timestamp,
        entries: Vec<Entry>,
    ) -> Result<bool> {
        self.write(entries, move |db, entries| {
            Box::pin(async move {
                locks::lock_device(db, device).await?;
                let stopped = sql::query(
                    "UPDATE passkeys SET sign_in = 'declined', agreed_at = NULL
                     WHERE device_id = $1 AND sign_in = 'agreed'
                       AND EXISTS (SELECT 1 FROM devices WHERE devices.id = $1 AND devices.user_id = $2)",
                )
                .bind(device.to_string())
                .bind(user.to_string())
                .execute(&mut *db)
                .await?;
                if stopped == 0 {
                    return Ok(false);
                }
                sql::query(sql::statement!(
                    "UPDATE approvals SET state = 'withdrawn', decided_at = $3
                     WHERE user_id = $2 AND device_id = $1 AND kind = 'passkey' AND ",
                    IS_UNUSED
                ))
                .bind(device.to_string())
                .bind(user.to_string())
                .bind(now.millis())
                .execute(&mut *db)
                .await?;
                audit::append(db, entries).await?;
                Ok(true)
            })
        })
        .await
    }

    /// Stores the challenge of a login page, and replaces an unanswered one. Returns whether the sign-in belongs to
    /// this browser and waits for its user.
    pub async fn begin_sign_in_ceremony(
        &self,
        login: LoginId,
        browser: Digest,
        state: String,
        now: Timestamp,
    ) -> Result<bool> {
        self.write(state, move |db, state| {
            Box::pin(async move {
                let begun = sql::query(
                    "INSERT INTO sign_in_ceremonies (login_id, state)
                     SELECT logins.id, $3 FROM logins
                     WHERE logins.id = $1 AND logins.browser = $2 AND logins.answered_at IS NULL
                       AND logins.approval_id IS NULL AND logins.session_id IS NULL AND logins.expires_at > $4
                     ON CONFLICT (login_id) DO UPDATE SET state = excluded.state",
                )
                .bind(login.to_string())
                .bind(browser.to_text())
                .bind(state)
                .bind(now.millis())
                .execute(db)
                .await?;
                Ok(begun > 0)
            })
        })
        .await
    }

    /// Claims the challenge of a login page, if the sign-in belongs to this browser and waits for its user. Only one
    /// caller gets it, so of two assertions only one is verified.
    pub async fn claim_sign_in_ceremony(
        &self,
        login: LoginId,
        browser: Digest,
        now: Timestamp,
    ) -> Result<Option<String>> {
        self.write((), move |db, ()| {
            Box::pin(async move {
                let claimed: Option<(String,)> = sql::query_as(
                    "DELETE FROM sign_in_ceremonies
                     WHERE login_id = $1
                       AND EXISTS (SELECT 1 FROM logins
                                   WHERE logins.id = $1 AND logins.browser = $2 AND logins.answered_at IS NULL
                                     AND logins.approval_id IS NULL AND logins.session_id IS NULL
                                     AND logins.expires_at > $3)
                     RETURNING state",
                )
                .bind(login.to_string())
                .bind(browser.to_text())
                .bind(now.millis())
                .fetch_optional(db)
                .await?;
                Ok(claimed.map(|(state,)| state))
            })
        })
        .await
    }

    /// Approves a sign-in by a passkey. The sign-in must wait for its user, and the device must not be revoked. The
    /// user must be allowed to sign in there, and must have agreed to use this passkey for it.
    pub async fn approve_by_passkey(
        &self,
        request: PasskeyApproval,
        now: Timestamp,
    ) -> Result<PasskeyApprovalOutcome> {
        self.write(request, move |db, request| {
            Box::pin(approve(db, request, now))
        })
        .await
    }
}

async fn approve(
    db: &mut Connection,
    request: &PasskeyApproval,
    now: Timestamp,
) -> Result<PasskeyApprovalOutcome> {
    let PasskeyApproval {
        approval,
        user,
        device,
        used,
        entry,
        receipt,
    } = request;
    let (user, device) = (*user, *device);
    let ApprovalSubject::SignIn(login) = approval.subject else {
        return Err(StoreError::Internal("a passkey approves sign-ins only"));
    };
    if !locks::lock_active_device(db, user, device).await?
        || record_use(db, device, used).await? == PasskeyUseOutcome::Rejected
        || !is_agreed(db, device).await?
    {
        return Ok(PasskeyApprovalOutcome::Rejected);
    }
    let application = approval.shown.application.as_ref().map(ToString::to_string);
    if is_closed(db, user, application.clone()).await? {
        return Ok(PasskeyApprovalOutcome::Rejected);
    }
    let claimed = sql::query(
        "UPDATE logins SET approval_id = $2
         WHERE id = $1 AND browser = $3 AND answered_at IS NULL AND approval_id IS NULL AND session_id IS NULL
           AND expires_at > $4",
    )
    .bind(login.to_string())
    .bind(approval.id.to_string())
    .bind(approval.browser.to_text())
    .bind(now.millis())
    .execute(&mut *db)
    .await?;
    if claimed == 0 {
        return Ok(PasskeyApprovalOutcome::NotOpen);
    }
    insert_approved(db, login, approval, user, device, application).await?;
    if let Some(receipt) = receipt {
        receipts::insert(db, receipt, now).await?;
    }
    devices::record_use(db, device, now).await?;
    cooldown::reset_denials(db, &user.to_string()).await?;
    // Another tab may show the login page.
    deferred::record_change(db, Change::Login(login))?;
    audit::append(db, std::slice::from_ref(entry)).await?;
    Ok(PasskeyApprovalOutcome::Approved)
}

/// Whether the user agreed to sign in with the device's passkey. The device is locked.
async fn is_agreed(db: &mut Connection, device: DeviceId) -> Result<bool> {
    Ok(
        sql::query("SELECT device_id FROM passkeys WHERE device_id = $1 AND sign_in = 'agreed'")
            .bind(device.to_string())
            .exists(db)
            .await?,
    )
}

/// Whether the user's account with the application is closed.
async fn is_closed(db: &mut Connection, user: UserId, application: Option<String>) -> Result<bool> {
    Ok(sql::query(
        "SELECT id FROM accounts
         WHERE user_id = $1 AND application_id = $2 AND state IN ('suspended', 'terminated')",
    )
    .bind(user.to_string())
    .bind(application)
    .exists(db)
    .await?)
}

/// Adds the row of an approval that is granted at its creation. No device receives it, so it has no number.
async fn insert_approved(
    db: &mut Connection,
    login: LoginId,
    approval: &Approval,
    user: UserId,
    device: DeviceId,
    application: Option<String>,
) -> Result<()> {
    sql::query(
        "INSERT INTO approvals (id, login_id, user_id, named_user, name_digest, kind, browser, scanned_by, same_browser,
                                attempts_left, prompt, state, device_id, requested_at, decided_at, expires_at,
                                application_id)
         VALUES ($1, $2, $3, $3, $4, $5, $6, $7, $8, 0, $9, 'approved', $7, $10, $10, $11, $12)",
    )
    .bind(approval.id.to_string())
    .bind(login.to_string())
    .bind(user.to_string())
    .bind(approval.name_digest.to_text())
    .bind(RequestKind::Passkey.as_str())
    .bind(approval.browser.to_text())
    .bind(device.to_string())
    .bind(approval.is_same_browser)
    .bind(to_json(&approval.shown)?)
    .bind(approval.requested_at.millis())
    .bind(approval.expires_at.millis())
    .bind(application)
    .execute(db)
    .await?;
    Ok(())
}
