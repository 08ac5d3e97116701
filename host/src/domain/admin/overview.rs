//! How the host fares, in numbers.

use super::Result;
use crate::clock::Timestamp;
use crate::domain::Host;
use crate::model::audit::Event;
use crate::model::user::LifeState;

/// How many hours the overview tells of.
const HOURS: i64 = 24;
/// An hour in milliseconds.
const HOUR: i64 = 60 * 60 * 1000;
/// What is counted of sign-ins.
const COUNTED: [Event; 4] = [Event::SignedIn, Event::SignInDenied, Event::SignInNotMe, Event::SignInWrongNumber];

/// The counts of the overview.
#[derive(Clone, Debug)]
pub struct Overview {
    /// How many users there are in each state.
    pub users: Vec<(LifeState, u64)>,
    /// How many OpenID Connect clients there are.
    pub clients: u64,
    /// How many SAML service providers there are.
    pub service_providers: u64,
    /// The sign-ins of the last 24 hours, the earliest first; the last one is not over yet.
    pub hours: Vec<HourOfSignIns>,
}

/// The sign-ins of one hour.
#[derive(Clone, Copy, Debug)]
pub struct HourOfSignIns {
    /// When it began.
    pub from: Timestamp,
    /// How many people signed in.
    pub completed: u64,
    /// How often somebody denied, said that it was not theirs, or typed a wrong number.
    pub failed: u64,
}

/// The counts at this moment.
pub async fn overview(host: &Host) -> Result<Overview> {
    let this_hour = host.now().millis() / HOUR;
    let hour = |number: i64| Timestamp::from_millis(number * HOUR);
    let first = this_hour - (HOURS - 1);
    let counts = host.store.events_by_hour(COUNTED, hour(first)).await?;
    let hours = (first..=this_hour).map(hour).map(|from| {
        let of = |completed: bool| {
            let of_hour =
                counts.iter().filter(|(event, at, _)| *at == from && (*event == Event::SignedIn) == completed);
            of_hour.map(|(_, _, count)| count).sum()
        };
        HourOfSignIns { from, completed: of(true), failed: of(false) }
    });
    let hours = hours.collect();
    let (clients, service_providers) = host.store.application_counts().await?;
    Ok(Overview { users: host.store.users_by_state().await?, clients, service_providers, hours })
}
