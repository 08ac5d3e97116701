//! Users' reports that an approval request was not theirs. An administrator settles each of them once.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::engine::batch::bulk_sql::{BulkSql, MOST};
use crate::engine::rows::{cell, moment, parse};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::tables::approvals::cooldown;
use crate::tables::sessions::portal;
use crate::{Result, Store, StoreError, UserGuard};
use assent_model::audit::{Actor, Entry};
use assent_model::clock::Timestamp;
use assent_model::id::{DeviceId, ReportId, UserId};
use assent_model::login::BrowserContext;
use assent_model::recovery::CodesOfDevice;
use assent_model::report::{NewReport, Report, ReportSettlement, ReportSubject};

const SIGN_IN: &str = "sign-in";
const ACTION: &str = "action";
const BACKCHANNEL: &str = "backchannel";
const CALLER_CHECK: &str = "caller-check";
/// This text is greater than each id.
const LAST_ID: &str = "g";

/// Which reports a list contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportFilter {
    /// Only reports of this user.
    pub user: Option<UserId>,
    /// Only reports that are not settled.
    pub open: bool,
}

/// The settlement of a report, with the effects that an administrator chose.
#[derive(Clone, Debug)]
pub struct ReportWrite {
    /// The report.
    pub report: ReportId,
    /// The end of the report.
    pub settlement: ReportSettlement,
    /// The entry about the end of the cooldown, if the cooldown must end.
    pub end_cooldown: Option<Entry>,
    /// The entry about the end of the sessions, if all sessions of the user must end.
    pub end_sessions: Option<Entry>,
    /// The device to revoke, with the entry about it.
    pub revoke_device: Option<(DeviceId, Entry)>,
}

crate::engine::sql::row! {
    struct ReportRow of reports {
        id: String,
        user_id: String,
        device_id: String,
        kind: String,
        application_id: Option<String>,
        requested_from: String,
        requested_with: String,
        reported_at: i64,
        settled_at: Option<i64>,
        settled_by_kind: Option<String>,
        settled_by: Option<String>,
        note: Option<String>,
    }
}

impl TryFrom<ReportRow> for Report {
    type Error = StoreError;
    fn try_from(row: ReportRow) -> Result<Self> {
        let cell = |column| cell("reports", column, &row.id);
        let application = row.application_id.as_deref();
        let application = application
            .map(|id| parse(id, cell("application_id")))
            .transpose()?;
        let settlement = match (row.settled_at, row.settled_by_kind) {
            (Some(at), Some(kind)) => Some(ReportSettlement {
                settled_at: moment(at),
                settled_by: Actor::parse(&kind, row.settled_by.as_deref())
                    .ok_or_else(|| cell("settled_by").unexpected())?,
                note: row.note.unwrap_or_default(),
            }),
            (None, None) => None,
            _ => return Err(cell("settled_by_kind").unexpected()),
        };
        Ok(Self {
            content: NewReport {
                id: parse(&row.id, cell("id"))?,
                subject: match row.kind.as_str() {
                    SIGN_IN => ReportSubject::SignIn(application),
                    ACTION => ReportSubject::Action,
                    CALLER_CHECK => ReportSubject::CallerCheck,
                    BACKCHANNEL => ReportSubject::Backchannel(
                        application.ok_or(cell("application_id").unexpected())?,
                    ),
                    _ => return Err(cell("kind").unexpected()),
                },
                browser: BrowserContext {
                    place: row.requested_from,
                    browser: row.requested_with,
                    ..BrowserContext::default()
                },
            },
            user: parse(&row.user_id, cell("user_id"))?,
            device: parse(&row.device_id, cell("device_id"))?,
            reported_at: moment(row.reported_at),
            settlement,
        })
    }
}

/// Inserts a report of a user.
pub(crate) async fn insert(
    db: &mut Connection,
    report: &NewReport,
    user: &str,
    device: DeviceId,
    now: Timestamp,
) -> Result<()> {
    let (kind, application) = match &report.subject {
        ReportSubject::SignIn(application) => (SIGN_IN, application.as_ref()),
        ReportSubject::Action => (ACTION, None),
        ReportSubject::CallerCheck => (CALLER_CHECK, None),
        ReportSubject::Backchannel(application) => (BACKCHANNEL, Some(application)),
    };
    sql::query(
        "INSERT INTO reports (id, user_id, device_id, kind, application_id, requested_from, requested_with, reported_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(report.id.to_string())
    .bind(user.to_owned())
    .bind(device.to_string())
    .bind(kind)
    .bind(application.map(ToString::to_string))
    .bind(&report.browser.place)
    .bind(&report.browser.browser)
    .bind(now.millis())
    .execute(db)
    .await?;
    Ok(())
}

macro_rules! reports_found {
    ($condition:literal) => {
        sql::statement!(
            "SELECT ",
            ReportRow::COLUMNS,
            " FROM reports WHERE reports.id < $1 AND ",
            $condition,
            " ORDER BY reports.id DESC LIMIT $2"
        )
    };
}

static OPEN_REPORTS: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "SELECT user_id, COUNT(*) FROM reports WHERE settled_at IS NULL AND user_id IN ({$}) GROUP BY user_id",
        0,
    )
});

impl Store {
    /// Up to `limit` reports before `before`, the latest first.
    pub async fn reports(
        &self,
        filter: ReportFilter,
        before: Option<ReportId>,
        limit: u32,
    ) -> Result<Vec<Report>> {
        let statement = match (filter.user, filter.open) {
            (None, false) => reports_found!("$3 = ''"),
            (None, true) => reports_found!("settled_at IS NULL AND $3 = ''"),
            (Some(_), false) => reports_found!("user_id = $3"),
            (Some(_), true) => reports_found!("user_id = $3 AND settled_at IS NULL"),
        };
        sql::query_as::<ReportRow>(statement)
            .bind(before.map_or_else(|| LAST_ID.to_owned(), |id| id.to_string()))
            .bind(limit)
            .bind(filter.user.map(|user| user.to_string()).unwrap_or_default())
            .fetch_values(&self.readers)
            .await
    }

    /// The report with this id.
    pub async fn report(&self, id: ReportId) -> Result<Option<Report>> {
        sql::query_as::<ReportRow>(sql::statement!(
            "SELECT ",
            ReportRow::COLUMNS,
            " FROM reports WHERE id = $1"
        ))
        .bind(id.to_string())
        .fetch_value(&self.readers)
        .await
    }

    /// The number of open reports of each of these users. A user without one is missing.
    pub async fn open_reports_of(&self, users: &[UserId]) -> Result<HashMap<UserId, u64>> {
        let mut counts = HashMap::new();
        for users in users.chunks(MOST) {
            let mut query = sql::query_as::<(String, i64)>(OPEN_REPORTS.sql_for(users.len()));
            for user in OPEN_REPORTS.padded(users) {
                query = query.bind(user.to_string());
            }
            for (id, count) in query.fetch_all(&self.readers).await? {
                let user = parse(&id, cell("reports", "user_id", &id))?;
                counts.insert(user, count.unsigned_abs());
            }
        }
        Ok(counts)
    }
}

/// Settles a report with the chosen effects.
pub(crate) async fn settle(
    db: &mut Connection,
    guard: UserGuard,
    write: &ReportWrite,
    now: Timestamp,
) -> Result<()> {
    let user = guard.lock(db).await?;
    if !claim(db, write, user).await? {
        return Err(StoreError::Overtaken("the report was settled already"));
    }
    if let Some(entry) = &write.end_cooldown {
        cooldown::lift(db, user, entry, now).await?;
    }
    if let Some(entry) = &write.end_sessions {
        portal::end_sessions(db, user, "", entry, now).await?;
    }
    if let Some((device, entry)) = &write.revoke_device {
        portal::revoke_device(db, user, *device, CodesOfDevice::End, entry, now)
            .await?
            .ok_or(StoreError::Overtaken("the device was removed meanwhile"))?;
    }
    Ok(())
}

/// Claims an open report. Returns whether it was open.
async fn claim(db: &mut Connection, write: &ReportWrite, user: UserId) -> Result<bool> {
    let ReportSettlement {
        settled_at,
        settled_by,
        note,
    } = &write.settlement;
    let claimed = sql::query(
        "UPDATE reports SET settled_at = $3, settled_by_kind = $4, settled_by = $5, note = $6
         WHERE id = $1 AND user_id = $2 AND settled_at IS NULL",
    )
    .bind(write.report.to_string())
    .bind(user.to_string())
    .bind(settled_at.millis())
    .bind(settled_by.kind())
    .bind(settled_by.id())
    .bind(note)
    .execute(db)
    .await?;
    Ok(claimed > 0)
}
