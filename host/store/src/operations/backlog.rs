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
    (SELECT COUNT(*) FROM (SELECT 1 FROM logout_deliveries LIMIT 10000) AS l) AS logouts,
    (SELECT MIN(created_at) FROM (SELECT created_at FROM logout_deliveries ORDER BY id LIMIT 1) AS l) AS oldest_logout,
    (SELECT COUNT(*) FROM (SELECT 1 FROM invitation_mails LIMIT 10000) AS m) AS invitations,
    (SELECT MIN(e.created_at) FROM (SELECT enrolment_id FROM invitation_mails ORDER BY enrolment_id LIMIT 1) AS m
       JOIN enrolments e ON e.id = m.enrolment_id) AS oldest_invitation,
    (SELECT COUNT(*) FROM (SELECT 1 FROM approval_dispatches d JOIN approvals a ON a.id = d.approval_id
       WHERE a.expires_at > $1 AND d.leased_until < $1 LIMIT 10000) AS d) AS dispatches,
    (SELECT MIN(a.requested_at) FROM approval_dispatches d JOIN approvals a ON a.id = d.approval_id
       WHERE a.expires_at > $1 AND d.leased_until < $1) AS oldest_dispatch,
    (SELECT COUNT(*) FROM (SELECT 1 FROM reports WHERE settled_at IS NULL LIMIT 10000) AS r) AS reports,
    (SELECT MIN(reported_at) FROM (SELECT reported_at FROM reports WHERE settled_at IS NULL ORDER BY id LIMIT 1) AS r)
       AS oldest_report,
    (SELECT COUNT(*) FROM (SELECT 1 FROM backchannel_deliveries WHERE due_at <= $1 LIMIT 10000) AS b) AS results,
    (SELECT MIN(due_at) FROM backchannel_deliveries WHERE due_at <= $1) AS oldest_result,
    (SELECT MIN(last) FROM (SELECT MAX(expires_at) AS last FROM saml_keys GROUP BY application_id) AS k)
       AS certificates";

crate::engine::sql::row! {
    /// The numbers and the times of the oldest rows.
    struct BacklogRow {
        logouts: i64,
        oldest_logout: Option<i64>,
        invitations: i64,
        oldest_invitation: Option<i64>,
        dispatches: i64,
        oldest_dispatch: Option<i64>,
        reports: i64,
        oldest_report: Option<i64>,
        results: i64,
        oldest_result: Option<i64>,
        certificates: Option<i64>,
    }
}

impl Store {
    /// The pending deliveries, and the first expiry of a SAML certificate.
    pub async fn backlogs(&self, now: Timestamp) -> Result<Backlogs> {
        let row: BacklogRow = sql::query_as(BACKLOGS)
            .bind(now.millis())
            .fetch_one(&self.readers)
            .await?;
        let backlog = |waiting: i64, oldest: Option<i64>| Backlog {
            waiting: waiting.unsigned_abs(),
            oldest: oldest.map(moment),
        };
        Ok(Backlogs {
            logouts: backlog(row.logouts, row.oldest_logout),
            results: backlog(row.results, row.oldest_result),
            invitations: backlog(row.invitations, row.oldest_invitation),
            dispatches: backlog(row.dispatches, row.oldest_dispatch),
            reports: backlog(row.reports, row.oldest_report),
            saml_certificates_expire: row.certificates.map(moment),
        })
    }
}
