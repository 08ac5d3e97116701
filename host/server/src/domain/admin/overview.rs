//! The overview of the server in numbers. Sign-ins are counted from the audit log, each hour once. The counts of past
//! hours are stored, so that the cost of an overview does not depend on the size of the log.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Result;
use crate::domain::approvals::record;
use crate::domain::{InternalError, Services};
use assent_model::clock::Timestamp;
use assent_model::user::LifecycleState;
use assent_store::{QUARTER, SignInHour};

/// An hour in milliseconds.
const HOUR: i64 = 60 * 60 * 1000;
/// The number of hours in a day, and of days in the month of the overview.
const DAY: i64 = 24;
const DAYS: i64 = 30;
/// The time after the end of an hour in which another instance, or a pending write, may still add entries to it.
const SETTLED: Duration = Duration::from_secs(5 * 60);

/// The period of the overview.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Range {
    /// The last 24 hours, by hour.
    #[default]
    Day,
    /// The last 30 days, by day in UTC.
    Month,
}

/// The counts of the overview.
#[derive(Clone, Debug)]
pub struct Overview {
    /// The number of users in each state.
    pub users: Vec<(LifecycleState, u64)>,
    /// The number of OpenID Connect clients.
    pub clients: u64,
    /// The number of SAML service providers.
    pub service_providers: u64,
    /// The sign-ins of each hour or day, the earliest first. The last period has not ended yet.
    pub periods: Vec<SignIns>,
}

/// The sign-ins of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignIns {
    /// The start of the hour or day.
    pub from: Timestamp,
    /// The number of completed sign-ins.
    pub completed: u64,
    /// The number of denied requests.
    pub denied: u64,
    /// The number of reported requests.
    pub reported: u64,
    /// The number of typed wrong numbers.
    pub number_mismatches: u64,
    /// The number of sign-ins that were cancelled in the browser.
    pub cancelled: u64,
    /// The number of requests that expired without a decision.
    pub expired: u64,
    /// The median time to an approval in milliseconds, rounded to 250 ms.
    pub approval_ms_p50: Option<u64>,
    /// The 95th percentile of the time to an approval in milliseconds, rounded to 250 ms.
    pub approval_ms_p95: Option<u64>,
}

/// Returns the current counts.
pub async fn overview(services: &Services, range: Range) -> Result<Overview> {
    let this_hour = services.now().millis().div_euclid(HOUR);
    let (first, each) = match range {
        Range::Day => (this_hour - (DAY - 1), 1),
        Range::Month => ((this_hour.div_euclid(DAY) - (DAYS - 1)) * DAY, DAY),
    };
    record::record_ends(services).await?;
    let hours = sign_ins_by_hour(services, first, services.now()).await?;
    let beginnings = (0..)
        .map(|number| first + number * each)
        .take_while(|from| *from <= this_hour);
    let periods = beginnings
        .map(|from| sum(from, hours.range(from..from + each).map(|(_, hour)| hour)))
        .collect();
    let (clients, service_providers) = services.store.application_counts().await?;
    Ok(Overview {
        users: services.store.users_by_state().await?,
        clients,
        service_providers,
        periods,
    })
}

/// Counts the past hours that are not counted yet, if the clock of this instance can be trusted.
pub async fn count_sign_ins(services: &Services) -> std::result::Result<(), InternalError> {
    let Some(now) = services.store.trusted_now(&*services.clock).await? else {
        return Ok(());
    };
    let today = now.millis().div_euclid(HOUR * DAY);
    sign_ins_by_hour(services, (today - DAYS) * DAY, now).await?;
    services
        .store
        .delete_sign_in_hours((today - 2 * DAYS) * DAY)
        .await?;
    Ok(())
}

/// Returns the sign-ins of each hour from the first one.
async fn sign_ins_by_hour(
    services: &Services,
    first: i64,
    now: Timestamp,
) -> std::result::Result<BTreeMap<i64, SignInHour>, InternalError> {
    let mut hours: BTreeMap<i64, SignInHour> = services
        .store
        .sign_in_hours(first)
        .await?
        .into_iter()
        .map(|hour| (hour.hour, hour))
        .collect();
    let this_hour = now.millis().div_euclid(HOUR);
    // The stored hours have no gaps, so the log is read from their end.
    let open = (first..this_hour)
        .find(|hour| !hours.contains_key(hour))
        .unwrap_or(this_hour);
    let settled = (now - SETTLED).millis().div_euclid(HOUR);
    let new = services.store.count_sign_ins(open, this_hour).await?;
    services
        .store
        .save_sign_in_hours(
            new.iter()
                .filter(|hour| hour.hour < settled)
                .cloned()
                .collect(),
        )
        .await?;
    hours.extend(new.into_iter().map(|hour| (hour.hour, hour)));
    Ok(hours)
}

fn sum<'a>(from: i64, hours: impl Iterator<Item = &'a SignInHour>) -> SignIns {
    let mut all = SignInHour::default();
    for hour in hours {
        all.completed += hour.completed;
        all.denied += hour.denied;
        all.reported += hour.reported;
        all.number_mismatches += hour.number_mismatches;
        all.cancelled += hour.cancelled;
        all.expired += hour.expired;
        for (quarters, count) in &hour.approval_times {
            *all.approval_times.entry(*quarters).or_default() += count;
        }
    }
    SignIns {
        from: Timestamp::from_millis(from * HOUR),
        completed: all.completed,
        denied: all.denied,
        reported: all.reported,
        number_mismatches: all.number_mismatches,
        cancelled: all.cancelled,
        expired: all.expired,
        approval_ms_p50: quantile(&all.approval_times, 50),
        approval_ms_p95: quantile(&all.approval_times, 95),
    }
}

/// Returns the percentile of the approval times, in milliseconds.
fn quantile(approval_times: &BTreeMap<u64, u64>, of_hundred: u64) -> Option<u64> {
    let all: u64 = approval_times.values().sum();
    let wanted = (all * of_hundred).div_ceil(100);
    let mut seen = 0;
    let found = approval_times.iter().find(|(_, count)| {
        seen += **count;
        seen >= wanted
    });
    found.map(|(quarters, _)| quarters * QUARTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_cover_all_approval_times() {
        assert_eq!(quantile(&BTreeMap::new(), 50), None);
        let approval_times: BTreeMap<u64, u64> = [(4, 90), (40, 9), (400, 1)].into();
        assert_eq!(
            (quantile(&approval_times, 50), quantile(&approval_times, 95)),
            (Some(1_000), Some(10_000))
        );
        assert_eq!(quantile(&approval_times, 100), Some(100_000));
    }
}
