//! The pending deliveries.

use crate::engine::rows::moment;
use crate::engine::sql;
use crate::{Result, Store};
use assent_model::clock::Timestamp;

/// The pending deliveries of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// The number of pending deliveries.
    pub waiting: u64,
    /// When the oldest of them was created.
    pub oldest: Option<Timestamp>,
}

/// The pending deliveries of every kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlogs {
    /// Logout tokens.
    pub logouts: Backlog,
    /// Results of back-channel requests, since the decision or the expiry.
    pub results: Backlog,
    /// Emails with invitations.
    pub invitations: Backlog,
    /// Approval requests that no channel has received yet, without those that a cooldown holds.
    pub dispatches: Backlog,
    /// Reports of users that no administrator has settled.
    pub reports: Backlog,
    /// The first expiry among the last SAML certificates of the applications.
    pub saml_certificates_expire: Option<Timestamp>,
}

/// The number and the time of the oldest row of each kind, in milliseconds. Each counts at most 10,000 rows.
const BACKLOGS: &str = "SELECT
    (SELECT COUNT(*) FROM (SELECT 1 FROM logout_deliveries LIMIT 10000) AS l),
    (SELECT MIN(created_at) FROM (SELECT created_at FROM logout_deliveries ORDER BY id LIMIT 1) AS l),
    (SELECT COUNT(*) FROM (SELECT 1 FROM invitation_mails LIMIT 10000) AS m),
    (SELECT MIN(e.created_at) FROM (SELECT enrolment_id FROM invitation_mails ORDER BY enrolment_id LIMIT 1) AS m
       JOIN enrolments e ON e.id = m.enrolment_id),
    (SELECT COUNT(*) FROM (SELECT 1 FROM approval_dispatches d JOIN approvals a ON a.id = d.approval_id
       WHERE a.expires_at > $1 AND d.leased_until < $1 LIMIT 10000) AS d),
    (SELECT MIN(a.requested_at) FROM approval_dispatches d JOIN approvals a ON a.id = d.approval_id
       WHERE a.expires_at > $1 AND d.leased_until < $1),
    (SELECT COUNT(*) FROM (SELECT 1 FROM reports WHERE settled_at IS NULL LIMIT 10000) AS r),
    (SELECT MIN(reported_at) FROM (SELECT reported_at FROM reports WHERE settled_at IS NULL ORDER BY id LIMIT 1) AS r),
    (SELECT COUNT(*) FROM (SELECT 1 FROM backchannel_deliveries WHERE due_at <= $1 LIMIT 10000) AS b),
    (SELECT MIN(due_at) FROM backchannel_deliveries WHERE due_at <= $1),
    (SELECT MIN(last) FROM (SELECT MAX(expires_at) AS last FROM saml_keys GROUP BY application_id) AS k)";

impl Store {
    /// The pending deliveries, and the first expiry of a SAML certificate.
    pub async fn backlogs(&self, now: Timestamp) -> Result<Backlogs> {
        type Row = (
            i64,
            Option<i64>,
            i64,
            Option<i64>,
            i64,
            Option<i64>,
            i64,
            Option<i64>,
            i64,
            Option<i64>,
            Option<i64>,
        );
        let row: Row = sql::query_as(BACKLOGS)
            .bind(now.millis())
            .fetch_one(&self.readers)
            .await?;
        let (
            logouts,
            logout,
            invitations,
            invitation,
            dispatches,
            dispatch,
            reports,
            report,
            results,
            result,
            certificates,
        ) = row;
        let backlog = |waiting: i64, oldest: Option<i64>| Backlog {
            waiting: waiting.unsigned_abs(),
            oldest: oldest.map(moment),
        };
        Ok(Backlogs {
            logouts: backlog(logouts, logout),
            results: backlog(results, result),
            invitations: backlog(invitations, invitation),
            dispatches: backlog(dispatches, dispatch),
            reports: backlog(reports, report),
            saml_certificates_expire: certificates.map(moment),
        })
    }
}
