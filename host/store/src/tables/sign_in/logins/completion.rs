//! The completion of a login, in one transaction.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::engine::batch::bulk_sql::{BulkSql, MOST};
use crate::engine::claimed_messages;
use crate::engine::deferred;
use crate::engine::locked_rows::LockedRow;
use crate::engine::rows::{cell, parse, to_json};
use crate::engine::sql;
use crate::engine::sql::{Connection, DatabaseKind};
use crate::engine::transactions::SharedWrite;
use crate::tables::devices::locks;
use crate::tables::sessions::saml_participants::{self, bind_application};
use crate::tables::users::sign_ins;

use crate::tables::sign_in::consents::ConsentGrant;
use crate::tables::sign_in::{consents, replay_cache};
use crate::tables::tokens::{bind_code, check_inserted, code_columns};
use crate::tables::{accounts, sessions, tokens};
use crate::{ReplayCheck, Result, Store, Transition, audit};
use assent_model::audit::{Entry, Origin};
use assent_model::change::Change;
use assent_model::clock::Timestamp;
use assent_model::id::{ApprovalId, Did, FamilyId, LoginId, SessionId, UserId};
use assent_model::login::{GivenAnswer, LoginAnswer};
use assent_model::saml::{MessageClaim, Participation};
use assent_model::secret::Digest;
use assent_model::session::Session;
use assent_model::token::CodeGrant;

/// The end of a login. One transaction stores all of it, or nothing.
#[derive(Clone, Debug)]
pub enum Completion {
    /// The user approved the login: a session begins.
    NewSession {
        /// The session.
        session: Box<NewSession>,
        /// The grant for the application; `None` if the user signs in to the portal.
        grant: Option<IssuedGrant>,
        /// The further records of the sign-in.
        record: SignInRecord,
    },
    /// The login uses the browser's session.
    Resume {
        /// The grant for the application. It names the session.
        grant: IssuedGrant,
        /// The further records of the sign-in.
        record: SignInRecord,
    },
    /// No user signs in.
    GiveUp {
        /// The answer that the application receives instead.
        answer: LoginAnswer,
    },
}

impl Completion {
    fn answer(&self) -> LoginAnswer {
        let signed_in = |session, is_new, grant: Option<&IssuedGrant>| LoginAnswer::SignedIn {
            session,
            is_new,
            code: grant.and_then(IssuedGrant::code),
        };
        match self {
            Self::NewSession { session, grant, .. } => {
                signed_in(session.session.id, true, grant.as_ref())
            }
            Self::Resume { grant, .. } => signed_in(grant.session(), false, Some(grant)),
            Self::GiveUp { answer } => answer.clone(),
        }
    }
}

/// A new session.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// The session.
    pub session: Session,
    /// The digest of its cookie.
    pub digest: Digest,
    /// The approval by which its user was authenticated.
    pub approval: ApprovalId,
    /// The IP address and the browser.
    pub origin: Origin,
    /// The browser's previous session, which ends.
    pub replaces: Option<SessionId>,
}

/// The records of a sign-in besides the session and the grant.
#[derive(Clone, Debug)]
pub struct SignInRecord {
    /// The user.
    pub user: UserId,
    /// The consent of the user.
    pub consent: Option<ConsentGrant>,
    /// The entries for the audit log.
    pub entries: Vec<Entry>,
    /// The entry about the account's activation, if the account was invited.
    pub activated: Option<Entry>,
}

/// The grant that an application receives from a sign-in.
#[derive(Clone, Debug)]
pub enum IssuedGrant {
    /// An authorization code.
    Code(Box<CodeGrant>),
    /// A SAML assertion in the session with this id, and the participation in the session that it begins; `None` for a
    /// test sign-in.
    Assertion(SessionId, Option<Participation>),
}

impl IssuedGrant {
    /// The user and the application that the user signs in to with it; `None` for a test sign-in.
    fn user_in_application(&self) -> Option<(UserId, &Did)> {
        match self {
            Self::Code(code) if code.context.purpose.is_application() => {
                Some((code.subject.user_id, &code.application))
            }
            Self::Assertion(_, Some(participation)) => {
                Some((participation.user_id, &participation.application))
            }
            Self::Code(_) | Self::Assertion(_, None) => None,
        }
    }

    fn code_grant(&self) -> Option<&CodeGrant> {
        match self {
            Self::Code(code) => Some(code),
            Self::Assertion(..) => None,
        }
    }

    const fn participation(&self) -> Option<&Participation> {
        match self {
            Self::Assertion(_, participation) => participation.as_ref(),
            Self::Code(_) => None,
        }
    }

    fn code(&self) -> Option<FamilyId> {
        self.code_grant().map(|code| code.id)
    }

    const fn session(&self) -> SessionId {
        match self {
            Self::Code(code) => code.subject.session_id,
            Self::Assertion(session, _) => *session,
        }
    }
}

impl Store {
    /// Answers a request with the browser's session, if the request needs no login. It has the effects of
    /// [`Completion::Resume`] without a login row, and claims the message of the request. Returns
    /// [`Transition::NotOpen`] if the session has ended or the message was claimed before.
    pub async fn answer_with_session(
        &self,
        grant: IssuedGrant,
        record: SignInRecord,
        claim: Option<MessageClaim>,
        now: Timestamp,
    ) -> Result<Transition> {
        let used = self.unrecorded_use(Some(&grant), now);
        let recorded = used.clone();
        let answer = SessionAnswer {
            grant,
            record,
            claim,
            used,
            now,
        };
        let outcome = self.writer.share(answer).await?;
        self.remember_use(outcome, recorded, now);
        Ok(outcome)
    }

    /// Ends a login, once. Returns [`Transition::NotOpen`] if it was answered before, has expired, or does not permit
    /// this completion. A new session requires an approval of this login with the state `approved`. The use of a
    /// session requires an open session. It claims the request, and is [`Transition::NotOpen`] if another sign-in
    /// answered the request.
    pub async fn answer_login(
        &self,
        id: LoginId,
        completion: Completion,
        claim: Option<MessageClaim>,
        now: Timestamp,
    ) -> Result<Transition> {
        let grant = match &completion {
            Completion::NewSession { grant, .. } => grant.as_ref(),
            Completion::Resume { grant, .. } => Some(grant),
            Completion::GiveUp { .. } => None,
        };
        let used = self.unrecorded_use(grant, now);
        let recorded = used.clone();
        let row = match &completion {
            Completion::Resume { grant, .. } => Some(LockedRow::Session(grant.session())),
            Completion::NewSession { .. } | Completion::GiveUp { .. } => None,
        };
        let (writer, input) = (&self.writer, (completion, used));
        let write = writer.write_to_row(row, claim, input, move |db, (completion, used)| {
            Box::pin(async move {
                let claims: Vec<&MessageClaim> = claim.iter().collect();
                if claimed_messages::take(db, &claims)
                    .await?
                    .contains(&ReplayCheck::Replayed)
                {
                    return Ok(Transition::NotOpen);
                }
                let outcome = complete(db, id, completion, now).await?;
                match outcome.is_done() {
                    true => used.record(db, now)?,
                    false => replay_cache::withdraw_all(db, &claims).await?,
                }
                Ok(outcome)
            })
        });
        let outcome = write.await?;
        self.remember_use(outcome, recorded, now);
        Ok(outcome)
    }

    /// The uses of the sign-in that this instance must record.
    fn unrecorded_use(&self, grant: Option<&IssuedGrant>, now: Timestamp) -> UnrecordedUse {
        let Some((user, application)) = grant.and_then(IssuedGrant::user_in_application) else {
            return UnrecordedUse::default();
        };
        let of_user = (user, application.clone());
        UnrecordedUse {
            application: self
                .recorded_use
                .is_due(application, now)
                .then(|| application.clone()),
            of_user: self
                .recorded_account_use
                .is_due(&of_user, now)
                .then_some(of_user),
        }
    }

    /// Remembers the uses that were recorded.
    fn remember_use(&self, outcome: Transition, used: UnrecordedUse, now: Timestamp) {
        if !outcome.is_done() {
            return;
        }
        if let Some(application) = used.application {
            self.recorded_use.remember(application, now);
        }
        if let Some(of_user) = used.of_user {
            self.recorded_account_use.remember(of_user, now);
        }
    }
}

/// The answer to a request by a session, without a login.
struct SessionAnswer {
    grant: IssuedGrant,
    record: SignInRecord,
    /// The message that it answers.
    claim: Option<MessageClaim>,
    used: UnrecordedUse,
    now: Timestamp,
}

impl SharedWrite for SessionAnswer {
    type Output = Transition;
    const RANK: u8 = 7;

    fn locked_row(&self) -> Option<LockedRow> {
        Some(LockedRow::Session(self.grant.session()))
    }

    fn claim(&self) -> Option<&MessageClaim> {
        self.claim.as_ref()
    }

    async fn execute(db: &mut Connection, writes: &[&Self]) -> Result<Vec<Transition>> {
        answer_all(db, writes).await
    }
}

async fn answer_all(db: &mut Connection, answers: &[&SessionAnswer]) -> Result<Vec<Transition>> {
    let claims = answers.iter().map(|answer| answer.claim.as_ref());
    let claimed = claimed_messages::take_optional(db, claims).await?;
    let first: Vec<&SessionAnswer> = answers.iter().zip(&claimed).filter_map(of_claim).collect();
    let open = match first.is_empty() {
        true => HashSet::new(),
        false => answer_first(db, &first).await?,
    };
    let mut outcomes = Vec::with_capacity(answers.len());
    for answer in answers.iter().zip(&claimed) {
        let open = of_claim(answer).filter(|answer| open.contains(&answer.grant.session()));
        let Some(answer) = open else {
            outcomes.push(Transition::NotOpen);
            continue;
        };
        insert_record(db, &answer.record, answer.now).await?;
        answer.used.record(db, answer.now)?;
        outcomes.push(Transition::Done);
    }
    Ok(outcomes)
}

/// The answer, unless its message was claimed before.
fn of_claim<'a>((answer, claim): (&&'a SessionAnswer, &ReplayCheck)) -> Option<&'a SessionAnswer> {
    (*claim == ReplayCheck::FirstUse).then_some(*answer)
}

/// Stores the grants of the open sessions among those of the answers. Returns these sessions. A message of another one
/// remains unclaimed.
async fn answer_first(
    db: &mut Connection,
    answers: &[&SessionAnswer],
) -> Result<HashSet<SessionId>> {
    let uses = answers
        .iter()
        .map(|answer| (answer.grant.session(), answer.now));
    let uses = sessions::latest_uses(uses);
    let codes: Vec<&CodeGrant> = answers
        .iter()
        .filter_map(|answer| answer.grant.code_grant())
        .collect();
    let open = insert_codes(db, &uses, &codes).await?;
    let is_open = |answer: &&&SessionAnswer| open.contains(&answer.grant.session());
    let closed = answers.iter().filter(|answer| !is_open(answer));
    let unanswered: Vec<&MessageClaim> =
        closed.filter_map(|answer| answer.claim.as_ref()).collect();
    replay_cache::withdraw_all(db, &unanswered).await?;
    let participations: Vec<&Participation> = answers
        .iter()
        .filter(is_open)
        .filter_map(|answer| answer.grant.participation())
        .collect();
    saml_participants::insert_participations(db, &participations).await?;
    Ok(open)
}

/// Returns those of the sessions that are open. Stores the codes of these sessions, and that their applications
/// participate in them.
async fn insert_codes(
    db: &mut Connection,
    uses: &[(SessionId, Timestamp)],
    codes: &[&CodeGrant],
) -> Result<HashSet<SessionId>> {
    // The application never receives the code of a test sign-in.
    let joins = |code: &CodeGrant| code.context.purpose.is_application();
    let is_small = (1..=MOST).contains(&codes.len()) && uses.len() <= codes.len();
    if db.kind() == DatabaseKind::Postgres && is_small && codes.iter().all(|code| joins(code)) {
        return insert_codes_at_once(db, uses, codes).await;
    }
    let open = sessions::lock_open_sessions(db, uses).await?;
    let codes = codes.iter().copied();
    let mut codes: Vec<&CodeGrant> = codes
        .filter(|code| open.contains(&code.subject.session_id))
        .collect();
    tokens::insert_all(db, &codes).await?;
    codes.retain(|code| joins(code));
    saml_participants::join_applications(db, &codes).await?;
    Ok(open)
}

/// What [`insert_codes`] does, in one round trip. SQLite has no statement that writes to several tables.
static INSERT_CODES: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        concat!(
            "WITH uses (id, used_at) AS (VALUES {($, $)}),
             open AS (UPDATE sessions SET signed_out = 0, used_at = uses.used_at FROM uses
                      WHERE sessions.id = uses.id AND ended_at IS NULL AND expires_at > uses.used_at
                      RETURNING sessions.id),
             codes AS (INSERT INTO token_families (",
            code_columns!(),
            ") SELECT v.column1, v.column2, v.column3, v.column4, v.column5, v.column6, v.column7, v.column8, v.column9,
                             v.column10, v.column11, v.column12, v.column13, v.column14, v.column15
                      FROM (VALUES {($, $, $, $, $, $, $, $, $, $, $, $, $, $, $)}) AS v
                      JOIN open ON open.id = v.column9 ON CONFLICT (id) DO NOTHING RETURNING session_id),
             joined AS (INSERT INTO session_applications (sid, application_id, user_id, subject)
                        SELECT v.column1, v.column2, v.column3, v.column4 FROM (VALUES {($, $, $, $, $)}) AS v
                        JOIN open ON open.id = v.column5 ORDER BY v.column1 COLLATE \"C\", v.column2 COLLATE \"C\"
                        ON CONFLICT (sid, application_id) DO NOTHING)
             SELECT id, (SELECT COUNT(*) FROM codes WHERE session_id = open.id) FROM open"
        ),
        0,
    )
});

async fn insert_codes_at_once(
    db: &mut Connection,
    uses: &[(SessionId, Timestamp)],
    codes: &[&CodeGrant],
) -> Result<HashSet<SessionId>> {
    let mut query = sql::query(INSERT_CODES.sql_for(codes.len()));
    for (id, now) in INSERT_CODES.padded_to(uses, codes.len()) {
        query = query.bind(id.to_string()).bind(now.millis());
    }
    for code in INSERT_CODES.padded(codes) {
        query = bind_code(query, code)?;
    }
    for code in INSERT_CODES.padded(codes) {
        query = bind_application(query, code)?.bind(code.subject.session_id.to_string());
    }
    let (mut open, mut inserted) = (HashSet::new(), 0);
    let rows: Vec<(String, i64)> = query.with_rows().fetch_all(db).await?;
    for (id, codes) in rows {
        open.insert(parse(&id, cell("sessions", "id", &id))?);
        inserted += u64::try_from(codes).unwrap_or_default();
    }
    let of_open = codes
        .iter()
        .filter(|code| open.contains(&code.subject.session_id));
    check_inserted(inserted, of_open.count())?;
    Ok(open)
}

/// The uses that a sign-in must record: that of the application, and that by the user.
#[derive(Clone, Debug, Default)]
struct UnrecordedUse {
    application: Option<Did>,
    of_user: Option<(UserId, Did)>,
}

impl UnrecordedUse {
    fn record(&self, db: &mut Connection, now: Timestamp) -> Result<()> {
        if let Some(application) = &self.application {
            deferred::record_use(db, application, now)?;
        }
        if let Some((user, application)) = &self.of_user {
            deferred::record_account_use(db, *user, application, now)?;
        }
        Ok(())
    }
}

/// The start of each claim. The sign-in remains until its answer can no longer be repeated.
macro_rules! claim {
    ($condition:literal) => {
        concat!(
            "UPDATE logins SET answered_at = $2, answer = $3,
                    expires_at = CASE WHEN expires_at < $4 THEN $4 ELSE expires_at END
             WHERE id = $1 AND answered_at IS NULL AND expires_at > $2 ",
            $condition,
            " RETURNING id"
        )
    };
}

/// Claims a login with the approval from which its answer was computed. Another request of the browser may have begun
/// another approval since.
const CLAIM_APPROVED: &str = claim!(
    "AND logins.approval_id = $5
     AND EXISTS (SELECT 1 FROM approvals
                 WHERE approvals.id = $5 AND approvals.login_id = logins.id AND approvals.user_id = $6
                   AND approvals.state = 'approved')"
);
/// Claims a login that uses this open session.
const CLAIM_RESUMED: &str = claim!(
    "AND approval_id IS NULL AND logins.session_id = $5
     AND EXISTS (SELECT 1 FROM sessions
                 WHERE sessions.id = $5 AND sessions.user_id = $6 AND sessions.ended_at IS NULL
                   AND sessions.expires_at > $2)"
);
/// Claims a login without a sign-in.
const CLAIM_GIVEN_UP: &str = claim!("");

async fn complete(
    db: &mut Connection,
    id: LoginId,
    completion: &Completion,
    now: Timestamp,
) -> Result<Transition> {
    match completion {
        Completion::NewSession {
            session,
            grant,
            record,
        } => {
            locks::lock_approver(db, session.approval).await?;
            let proof = (session.approval.to_string(), session.session.user_id);
            if !claim_login(db, CLAIM_APPROVED, Some(proof), id, completion, now).await? {
                return Ok(Transition::NotOpen);
            }
            begin_session(db, session, now).await?;
            if let Some(grant) = grant {
                insert_grant(db, grant).await?;
            }
            insert_record(db, record, now).await?;
        }
        Completion::Resume { grant, record } => {
            let proof = (grant.session().to_string(), record.user);
            if !sessions::lock_open_session(db, grant.session(), now).await?
                || !claim_login(db, CLAIM_RESUMED, Some(proof), id, completion, now).await?
            {
                return Ok(Transition::NotOpen);
            }
            insert_grant(db, grant).await?;
            insert_record(db, record, now).await?;
        }
        Completion::GiveUp { .. } => {
            if !claim_login(db, CLAIM_GIVEN_UP, None, id, completion, now).await? {
                return Ok(Transition::NotOpen);
            }
            // Only here the user of the login is undecided, so another page may wait for it.
            deferred::record_change(db, Change::Login(id))?;
        }
    }
    Ok(Transition::Done)
}

/// Claims a login with one of the statements above, and the approval or session of a user that it requires. Returns
/// whether it succeeded.
async fn claim_login(
    db: &mut Connection,
    statement: &'static str,
    proof: Option<(String, UserId)>,
    id: LoginId,
    completion: &Completion,
    now: Timestamp,
) -> Result<bool> {
    let mut query = sql::query(statement)
        .bind(id.to_string())
        .bind(now.millis())
        .bind(to_json(&completion.answer())?)
        .bind((now + GivenAnswer::REPEATABLE).millis());
    if let Some((proof, user)) = proof {
        query = query.bind(proof).bind(user.to_string());
    }
    Ok(query.exists(db).await?)
}

/// Begins a session, and ends the earlier one of its browser.
pub(crate) async fn begin_session(
    db: &mut Connection,
    new: &NewSession,
    now: Timestamp,
) -> Result<()> {
    if let Some(old) = new.replaces {
        sessions::replace(db, old, Some(&new.session), now).await?;
    }
    sessions::insert(db, &new.session, new.digest, new.approval, &new.origin, now).await?;
    sign_ins::record_sign_in(db, new.session.user_id, now).await
}

async fn insert_grant(db: &mut Connection, grant: &IssuedGrant) -> Result<()> {
    match grant {
        IssuedGrant::Code(code) => {
            tokens::insert_all(db, &[code]).await?;
            // The application never receives the code of a test sign-in.
            match code.context.purpose.is_application() {
                true => saml_participants::join_applications(db, &[code]).await,
                false => Ok(()),
            }
        }
        IssuedGrant::Assertion(_, Some(participation)) => {
            saml_participants::insert_participations(db, &[participation]).await
        }
        IssuedGrant::Assertion(_, None) => Ok(()),
    }
}

/// Stores the further records of a sign-in.
pub(crate) async fn insert_record(
    db: &mut Connection,
    record: &SignInRecord,
    now: Timestamp,
) -> Result<()> {
    audit::append(db, &record.entries).await?;
    if let Some(entry) = &record.activated {
        accounts::activate_account(db, entry).await?;
    }
    if let Some(consent) = &record.consent {
        consents::remember(db, consent, now).await?;
    }
    Ok(())
}
