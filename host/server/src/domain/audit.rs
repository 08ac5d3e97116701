//! The use cases that write and read the audit log. An entry is stored in the transaction of the change that it
//! records.

pub mod continuation;
pub mod stream;
pub mod streams;
pub mod verify;

use std::sync::Arc;
use std::time::Duration;

use crate::domain::{InternalError, Services};
use assent_model::audit::{AuditContext, Entry, Event};
use assent_model::clock::Timestamp;
use assent_model::id::{AuditId, UserId};
use assent_model::user::LifecycleState;
use assent_store::{AuditFilter, AuditPage, COUNTED_FOR, StoredEntry};

/// Returns an entry with the current time.
pub fn entry(services: &Services, event: Event, by: &AuditContext) -> Entry {
    Entry::new(event, by, services.now(), &*services.entropy)
}

/// Returns the entry about a change of a lifecycle state, with the states before and after.
pub(crate) fn of_state(entry: Entry, before: LifecycleState, after: LifecycleState) -> Entry {
    entry
        .with("before", before.as_str())
        .with("after", after.as_str())
}

/// Returns the retention of entries.
pub(crate) fn retention(services: &Services) -> Duration {
    services.settings.audit.retention.get()
}

/// Writes the summary entries about repeated requests for sign-ins. If a name is typed often in one network, one entry
/// has the count of the requests after the first.
pub async fn sum_up_repeated(services: &Services) -> Result<(), InternalError> {
    /// The number of repeated requests that are read at a time.
    const SLICE: u32 = 100;
    loop {
        let repeated = services
            .store
            .repeated_requests(services.now() - COUNTED_FOR, SLICE)
            .await?;
        let is_last = repeated.len() < SLICE as usize;
        for repeated in repeated {
            let entry =
                entry(services, Event::SignInRequested, &AuditContext::SERVER).about(repeated.user);
            let entry = entry
                .with("first_at", repeated.first_at.seconds())
                .personal("ip_address", repeated.network.clone());
            services.store.sum_up_repeated(repeated, entry).await?;
        }
        if is_last {
            return Ok(());
        }
    }
}

/// Authenticates new entries within a second, until the task is dropped.
pub async fn sign_roots(services: Arc<Services>) {
    loop {
        services.store.audit_log_changed().await;
        while let Err(error) = services.store.sign_audit_root().await {
            tracing::warn!(%error, "root of the audit log not written, retrying");
            tokio::time::sleep(ROOTS).await;
        }
        tokio::time::sleep(ROOTS).await;
    }
}

/// The interval between two roots.
const ROOTS: Duration = Duration::from_secs(1);

/// Returns a time in the form of RFC 3339, in UTC.
pub fn moment_text(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.millis())
        .map(|at| at.to_string())
        .unwrap_or_default()
}

/// Parses a time in the form of RFC 3339, or a date, which means the beginning of that day in UTC.
pub fn moment(text: &str) -> Option<Timestamp> {
    let moment = text.parse().or_else(|_| {
        let day: jiff::civil::Date = text.parse()?;
        day.to_zoned(jiff::tz::TimeZone::UTC)
            .map(|day| day.timestamp())
    });
    moment
        .ok()
        .map(|moment: jiff::Timestamp| Timestamp::from_millis(moment.as_millisecond()))
}

/// Returns up to `limit` entries, the latest first. With `before`, only entries before that entry.
pub async fn list(
    services: &Services,
    filter: &AuditFilter,
    before: Option<AuditId>,
    limit: u32,
) -> Result<AuditPage, InternalError> {
    Ok(services.store.audit_page(filter, before, limit).await?)
}

/// Returns up to `limit` recent entries about a user, the latest first. With `before`, only entries before that entry.
pub async fn of_user(
    services: &Services,
    user: UserId,
    before: Option<AuditId>,
    limit: u32,
) -> Result<Vec<StoredEntry>, InternalError> {
    let filter = AuditFilter {
        user: Some(user),
        ..AuditFilter::default()
    };
    Ok(services.store.audit_entries(&filter, before, limit).await?)
}
