//! Invitations: the links of invited users, and the outbox of their emails. The row of an email is written with its
//! link. An instance leases it for one attempt; if that instance stops, another one sends it after the lease. So an
//! email is sent at least once, and its duplicates have the same Message-ID.

use std::time::Duration;

use crate::engine::rows::{cell, moment, parse};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::tables::devices::enrolment_links::{end_links_of_invited, insert_enrolment};
use crate::tables::users::guard::UserGuard;
use crate::tables::users::row::UserRow;
use crate::{Result, Store, StoreError, audit};
use assent_model::audit::{Actor, Entry};
use assent_model::clock::Timestamp;
use assent_model::device::Enrolment;
use assent_model::invitation::{
    Invitation, InvitationLink, InvitationState, LeasedMail, MailDelivery, MailOutcome,
};
use assent_model::search::Cursor;
use assent_model::user::User;

/// A new link of a user that an administrator creates.
#[derive(Clone, Debug)]
pub struct NewInvitation {
    /// The link.
    pub enrolment: Enrolment,
    /// The user or operator who creates it.
    pub inviter: Actor,
    /// The link itself, sealed, if it is sent by email.
    pub sealed_link: Option<String>,
    /// The additional entry if the link replaces an open one.
    pub resent: Option<Entry>,
}

crate::engine::sql::row! {
    struct LinkRow {
        link_id: Option<String>,
        link_created_at: Option<i64>,
        link_expires_at: Option<i64>,
        inviter_kind: Option<String>,
        inviter_id: Option<String>,
        delivery: Option<String>,
        delivery_at: Option<i64>,
        delivery_error: Option<String>,
    }
}

crate::engine::sql::row! {
    struct InvitationRow {
        user: UserRow,
        link: LinkRow,
    }
}

crate::engine::sql::row! {
    struct MailRow {
        enrolment_id: String,
        user_id: String,
        sealed_link: String,
        expires_at: i64,
        attempts: i64,
    }
}

impl LinkRow {
    fn into_link(self) -> Result<Option<InvitationLink>> {
        let (Some(id), Some(created_at), Some(expires_at)) =
            (self.link_id, self.link_created_at, self.link_expires_at)
        else {
            return Ok(None);
        };
        let at = |column| cell("enrolments", column, &id);
        let inviter = self
            .inviter_kind
            .map(|kind| {
                Actor::parse(&kind, self.inviter_id.as_deref())
                    .ok_or_else(|| at("inviter_kind").unexpected())
            })
            .transpose()?;
        let mail = match (self.delivery, self.delivery_at) {
            (Some(delivery), Some(since)) => {
                let delivery =
                    MailDelivery::parse(&delivery).ok_or_else(|| at("delivery").unexpected())?;
                Some((delivery, moment(since), self.delivery_error))
            }
            _ => None,
        };
        Ok(Some(InvitationLink {
            id: parse(&id, at("id"))?,
            created_at: moment(created_at),
            expires_at: moment(expires_at),
            inviter,
            mail,
        }))
    }
}

/// Adds a link of a user, and the row of its email. Returns the additional entry if the link replaces an open one.
pub(super) async fn insert(
    db: &mut Connection,
    guard: UserGuard,
    invitation: &NewInvitation,
    now: Timestamp,
) -> Result<Option<Entry>> {
    let user = guard.lock(db).await?;
    let ended = end_links_of_invited(db, user, now).await?;
    let NewInvitation {
        enrolment,
        inviter,
        sealed_link,
        resent,
    } = invitation;
    insert_enrolment(db, enrolment, now).await?;
    let id = enrolment.id.to_string();
    let delivery = sealed_link.as_ref().map(|_| MailDelivery::Queued);
    sql::query(
        "UPDATE enrolments SET inviter_kind = $2, inviter_id = $3, delivery = $4, delivery_at = $5
         WHERE id = $1",
    )
    .bind(&id)
    .bind(inviter.kind().to_owned())
    .bind(inviter.id())
    .bind(delivery.map(MailDelivery::as_str))
    .bind(delivery.map(|_| now.millis()))
    .execute(&mut *db)
    .await?;
    if let Some(sealed) = sealed_link {
        sql::query(
            "INSERT INTO invitation_mails (enrolment_id, sealed_link, attempts, next_attempt_at)
             VALUES ($1, $2, 0, $3)",
        )
        .bind(id)
        .bind(sealed)
        .bind(now.millis())
        .execute(db)
        .await?;
    }
    Ok(resent.clone().filter(|_| ended > 0))
}

impl Store {
    /// Ends the links of an invited user, also an expired one. Returns `false` and records nothing if none was open.
    ///
    /// # Errors
    /// [`StoreError::Stale`] if the user's version does not match `guard`.
    pub async fn withdraw_invitation(
        &self,
        user: &User,
        entry: Entry,
        now: Timestamp,
    ) -> Result<bool> {
        let guard = UserGuard::from(user);
        self.write(entry, move |db, entry| {
            Box::pin(async move {
                let user = guard.lock(db).await?;
                if end_links_of_invited(db, user, now).await? == 0 {
                    return Ok(false);
                }
                audit::append(db, std::slice::from_ref(entry)).await?;
                Ok(true)
            })
        })
        .await
    }

    /// Invited users in the order of their names, each with the last unused link. `after` is the sort key and the id of
    /// the last user of the previous page. If `state` is set, only those in that state.
    pub async fn invitations(
        &self,
        state: Option<InvitationState>,
        after: Option<&Cursor>,
        limit: u32,
        now: Timestamp,
    ) -> Result<Vec<Invitation>> {
        let rows: Vec<InvitationRow> = sql::query_as(sql::statement!(
            "SELECT ",
            UserRow::COLUMNS,
            ", enrolments.id AS link_id, enrolments.created_at AS link_created_at,
               enrolments.expires_at AS link_expires_at, enrolments.inviter_kind, enrolments.inviter_id,
               enrolments.delivery, enrolments.delivery_at, enrolments.delivery_error
             FROM users LEFT JOIN enrolments ON enrolments.id =
               (SELECT MAX(latest.id) FROM enrolments AS latest
                WHERE latest.user_id = users.id AND latest.used_at IS NULL AND latest.is_withdrawn = 0
                  AND latest.created_by IS NULL)
             WHERE users.state = 'invited' AND (users.search_key, users.id) > ($1, $5)
               AND ($2 = '' OR $2 = CASE WHEN enrolments.id IS NULL THEN 'no_link'
                                         WHEN enrolments.expires_at <= $3 THEN 'expired'
                                         WHEN enrolments.delivery IS NULL THEN 'link'
                                         ELSE enrolments.delivery END)
             ORDER BY users.search_key, users.id LIMIT $4"
        ))
        .bind(after.map(|after| after.term.clone()).unwrap_or_default())
        .bind(state.map(InvitationState::as_str).unwrap_or_default())
        .bind(now.millis())
        .bind(limit)
        .bind(after.map(|after| after.id.clone()).unwrap_or_default())
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter()
            .map(|row| {
                Ok(Invitation {
                    user: row.user.try_into()?,
                    link: row.link.into_link()?,
                })
            })
            .collect()
    }

    /// Leases the email with the earliest due time, for one attempt. Returns `None` if no email is due, or another
    /// instance leased it at the same time.
    pub async fn lease_invitation_mail(
        &self,
        lease: Duration,
        now: Timestamp,
    ) -> Result<Option<LeasedMail>> {
        if self
            .next_invitation_mail()
            .await?
            .is_none_or(|due| due > now)
        {
            return Ok(None);
        }
        self.write((), move |db, ()| {
            Box::pin(async move {
                sql::query_as::<MailRow>(
                    "UPDATE invitation_mails SET attempts = attempts + 1, next_attempt_at = $1
                     WHERE enrolment_id = (SELECT due.enrolment_id FROM invitation_mails AS due
                                           WHERE due.next_attempt_at <= $2 ORDER BY due.next_attempt_at LIMIT 1)
                       AND next_attempt_at <= $2
                     RETURNING enrolment_id, sealed_link, attempts,
                       (SELECT user_id FROM enrolments WHERE enrolments.id = enrolment_id) AS user_id,
                       (SELECT expires_at FROM enrolments WHERE enrolments.id = enrolment_id) AS expires_at",
                )
                .bind((now + lease).millis())
                .bind(now.millis())
                .fetch_value(db)
                .await
            })
        })
        .await
    }

    /// When the next email is due; `None` if there is none.
    pub async fn next_invitation_mail(&self) -> Result<Option<Timestamp>> {
        let (next,): (Option<i64>,) =
            sql::query_as("SELECT MIN(next_attempt_at) FROM invitation_mails")
                .fetch_one(&self.readers)
                .await?;
        Ok(next.map(moment))
    }

    /// Ends an attempt. Returns `false` and changes nothing if the link was withdrawn, or another attempt has begun.
    pub async fn settle_invitation_mail(
        &self,
        mail: &LeasedMail,
        outcome: MailOutcome,
        entry: Option<Entry>,
        now: Timestamp,
    ) -> Result<bool> {
        let (id, attempt) = (mail.enrolment.to_string(), i64::from(mail.attempt));
        self.write((id, outcome, entry), move |db, (id, outcome, entry)| {
            Box::pin(async move {
                let settled = match outcome {
                    MailOutcome::Retry { at, .. } => sql::query(
                        "UPDATE invitation_mails SET next_attempt_at = $3 WHERE enrolment_id = $1 AND attempts = $2",
                    )
                    .bind(id)
                    .bind(attempt)
                    .bind(at.millis()),
                    MailOutcome::Sent | MailOutcome::GivenUp { .. } => {
                        sql::query("DELETE FROM invitation_mails WHERE enrolment_id = $1 AND attempts = $2")
                            .bind(id)
                            .bind(attempt)
                    }
                };
                if settled.execute(&mut *db).await? == 0 {
                    return Ok(false);
                }
                let (delivery, why) = match outcome {
                    MailOutcome::Sent => (MailDelivery::Sent, None),
                    MailOutcome::Retry { why, .. } => (MailDelivery::Queued, Some(why)),
                    MailOutcome::GivenUp { why } => (MailDelivery::Failed, Some(why)),
                };
                sql::query("UPDATE enrolments SET delivery = $2, delivery_at = $3, delivery_error = $4 WHERE id = $1")
                    .bind(id)
                    .bind(delivery.as_str())
                    .bind(now.millis())
                    .bind(why)
                    .execute(&mut *db)
                    .await?;
                audit::append(db, entry.as_slice()).await?;
                Ok(true)
            })
        })
        .await
    }
}

impl TryFrom<MailRow> for LeasedMail {
    type Error = StoreError;
    fn try_from(row: MailRow) -> Result<Self> {
        let at = |column| cell("invitation_mails", column, &row.enrolment_id);
        Ok(Self {
            enrolment: parse(&row.enrolment_id, at("enrolment_id"))?,
            user: parse(&row.user_id, at("user_id"))?,
            sealed_link: row.sealed_link.clone(),
            expires_at: moment(row.expires_at),
            attempt: u32::try_from(row.attempts).map_err(|_| at("attempts").unexpected())?,
        })
    }
}
