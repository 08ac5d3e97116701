//! Counts the sessions, tokens and links that a restore ends.

use crate::Result;
use crate::engine::sql;
use crate::engine::sql::Connection;
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;

/// The numbers of values that were open in the backup and were ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedCounts {
    /// Sessions.
    pub sessions: i64,
    /// Families of tokens and authorization codes.
    pub token_families: i64,
    /// Pending approval requests, and unused approvals.
    pub approvals: i64,
    /// Enrolment links, those of invitations included.
    pub enrolment_links: i64,
    /// Recovery codes.
    pub recovery_codes: i64,
    /// Consents.
    pub consents: i64,
    /// Tokens of the admin API.
    pub admin_tokens: i64,
}

/// The statements, in the order of the fields. `$1` is the time.
const STATEMENTS: [&str; 7] = [
    "SELECT COUNT(*) FROM sessions WHERE ended_at IS NULL AND expires_at > $1",
    "SELECT COUNT(*) FROM token_families WHERE revoked_at IS NULL AND retain_until > $1",
    "SELECT COUNT(*) FROM approvals WHERE state IN ('requested', 'approved') AND expires_at > $1",
    "SELECT COUNT(*) FROM enrolments WHERE used_at IS NULL AND is_withdrawn = 0 AND expires_at > $1",
    "SELECT COUNT(*) FROM recovery_codes WHERE used_at IS NULL AND created_at <= $1",
    "SELECT COUNT(*) FROM consents WHERE expires_at > $1",
    "SELECT COUNT(*) FROM admin_tokens WHERE expires_at > $1",
];

impl EndedCounts {
    /// Counts them before they are ended.
    pub(super) async fn read(db: &mut Connection, now: Timestamp) -> Result<Self> {
        let mut counts = [0; STATEMENTS.len()];
        for (count, statement) in counts.iter_mut().zip(STATEMENTS) {
            let (found,): (i64,) = sql::query_as(statement)
                .bind(now.millis())
                .fetch_one(&mut *db)
                .await?;
            *count = found;
        }
        let [
            sessions,
            token_families,
            approvals,
            enrolment_links,
            recovery_codes,
            consents,
            admin_tokens,
        ] = counts;
        Ok(Self {
            sessions,
            token_families,
            approvals,
            enrolment_links,
            recovery_codes,
            consents,
            admin_tokens,
        })
    }

    pub(super) fn write_into(&self, entry: Entry) -> Entry {
        entry
            .with("sessions", self.sessions)
            .with("token_families", self.token_families)
            .with("approvals", self.approvals)
            .with("enrolment_links", self.enrolment_links)
            .with("recovery_codes", self.recovery_codes)
            .with("consents", self.consents)
            .with("admin_tokens", self.admin_tokens)
    }
}
