//! The claim of an `auth_req_id`: the session and the grant that an approved back-channel request begins.

use crate::engine::rows::{epoch_number, to_json};
use crate::engine::sql::Connection;
use crate::engine::{claimed_messages, deferred, sql};
use crate::tables::backchannel::deliveries;
use crate::tables::backchannel::second_approval::second_counts;
use crate::tables::devices::locks;
use crate::tables::sessions::saml_participants;
use crate::tables::sign_in::logins::completion::{
    NewSession, SignInRecord, begin_session, insert_record,
};
use crate::tables::tokens::TokenFamily;
use crate::{ReplayCheck, Result, Store};
use assent_model::clock::Timestamp;
use assent_model::id::BackchannelRequestId;
use assent_model::saml::MessageClaim;
use assent_model::scope::Scope;

/// What an approved back-channel request begins. One transaction stores all of it, or nothing.
#[derive(Clone, Debug)]
pub struct BackchannelGrant {
    /// The request.
    pub request: BackchannelRequestId,
    /// The session, which no browser has.
    pub session: NewSession,
    /// The grant of the application.
    pub family: TokenFamily,
    /// The `sub` of the user for the application.
    pub subject: String,
    /// The further records of the sign-in.
    pub record: SignInRecord,
    /// The earliest time until which the row of the grant is stored.
    pub retain_until: Timestamp,
    /// The claim of the DPoP proof of the token request.
    pub proof: Option<MessageClaim>,
    /// Whether the server sends the tokens to the application. A further attempt then finds the grant.
    pub is_pushed: bool,
}

/// The outcome of an attempt to claim an `auth_req_id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackchannelClaim {
    /// It is claimed, and cannot be claimed again.
    Claimed {
        /// The epoch of its tokens.
        epoch: u32,
    },
    /// It was claimed before, its user may not sign in to the application any more, or a second approval that it needs
    /// does not count any more. Nothing was stored.
    NotOpen,
    /// The proof was used before. The `auth_req_id` was not claimed.
    ProofReplayed,
}

impl Store {
    /// Claims an approved back-channel request, and begins its session and its grant. Of any number of concurrent
    /// requests on any instance, one succeeds.
    pub async fn claim_backchannel_request(
        &self,
        grant: BackchannelGrant,
        now: Timestamp,
    ) -> Result<BackchannelClaim> {
        let proof = grant.proof;
        self.writer
            .write_to_row(None, proof, grant, move |db, grant| {
                Box::pin(async move {
                    let claims: Vec<&MessageClaim> = grant.proof.iter().collect();
                    if claimed_messages::take(db, &claims)
                        .await?
                        .contains(&ReplayCheck::Replayed)
                    {
                        return Ok(BackchannelClaim::ProofReplayed);
                    }
                    claim(db, grant, now).await
                })
            })
            .await
    }
}

async fn claim(
    db: &mut Connection,
    grant: &BackchannelGrant,
    now: Timestamp,
) -> Result<BackchannelClaim> {
    let BackchannelGrant {
        request,
        session,
        family,
        ..
    } = grant;
    locks::lock_approver(db, session.approval).await?;
    // A concurrent withdrawal of the approval waits, and then ends the session, or came first.
    sql::query("UPDATE approvals SET state = state WHERE id = $1")
        .bind(session.approval.to_string())
        .execute(&mut *db)
        .await?;
    let claimed: Option<(i64,)> = sql::query_as(concat!(
        "UPDATE backchannel_requests SET claimed_at = $2
         WHERE id = $1 AND claimed_at IS NULL
           AND EXISTS (SELECT 1 FROM approvals
                       WHERE approvals.id = $3 AND approvals.backchannel_id = backchannel_requests.id
                         AND approvals.user_id = $4 AND approvals.state = 'approved')
           AND EXISTS (SELECT 1 FROM users JOIN accounts ON accounts.user_id = users.id
                       WHERE users.id = $4 AND users.state = 'active' AND accounts.id = $5
                         AND accounts.application_id = backchannel_requests.application_id
                         AND accounts.state IN ('invited', 'active'))
           AND (second_group IS NULL
                OR EXISTS (SELECT 1 FROM backchannel_requests AS asked
                           JOIN approvals AS second ON second.second_of = asked.id
                           WHERE asked.id = $1 AND ",
        second_counts!(),
        "))
         RETURNING (SELECT MAX(epoch) FROM token_epochs)",
    ))
    .bind(request.to_string())
    .bind(now.millis())
    .bind(session.approval.to_string())
    .bind(family.subject.user_id.to_string())
    .bind(family.subject.account_id.to_string())
    .fetch_optional(&mut *db)
    .await?;
    let Some((epoch,)) = claimed else {
        return Ok(BackchannelClaim::NotOpen);
    };
    begin_session(db, session, now).await?;
    insert_family(db, grant, now).await?;
    saml_participants::join_application(db, family, &grant.subject).await?;
    insert_record(db, &grant.record, now).await?;
    if grant.is_pushed {
        deliveries::set_family(db, *request, family.id).await?;
    }
    deferred::record_use(db, &family.application, now)?;
    deferred::record_account_use(db, family.subject.user_id, &family.application, now)?;
    Ok(BackchannelClaim::Claimed {
        epoch: epoch_number(epoch)?,
    })
}

/// Adds the row of the grant, which has no code.
async fn insert_family(
    db: &mut Connection,
    grant: &BackchannelGrant,
    now: Timestamp,
) -> Result<()> {
    let family = &grant.family;
    sql::query(
        "INSERT INTO token_families (id, application_id, scopes, user_id, account_id, session_id, context, claims,
                                     offline, created_at, code_expires_at, retain_until, exchanged_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, '{}', $8, $9, $10, $11, $10)",
    )
    .bind(family.id.to_string())
    .bind(family.application.to_string())
    .bind(family.scopes.to_string())
    .bind(family.subject.user_id.to_string())
    .bind(family.subject.account_id.to_string())
    .bind(family.subject.session_id.to_string())
    .bind(to_json(&family.context)?)
    .bind(family.scopes.has(Scope::OfflineAccess))
    .bind(family.created_at.millis())
    .bind(now.millis())
    .bind(grant.retain_until.millis())
    .execute(db)
    .await?;
    Ok(())
}
