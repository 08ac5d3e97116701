//! The totals of a list of access.

use assent_model::clock::Timestamp;
use assent_model::user::LifecycleState;

/// The number of entries that the totals count. There may be a million users.
const MOST: usize = 1_000;
/// The limit of the statements: one more shows that there are more entries.
pub(super) const LIMIT: u32 = 1_001;

/// Of an entry of the list: the state of the user, the state of the account, and the last use.
pub(super) type TotalsRow = (Option<String>, Option<String>, Option<i64>);

/// The numbers of entries of a list of access: of the first 1,000 entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessTotals {
    /// The entries.
    pub entries: u32,
    /// Those that the state of the user or of the account denies.
    pub denied: u32,
    /// Those that were never used.
    pub never_used: u32,
    /// Those without a use from a time on. They include those that were never used.
    pub unused: u32,
    /// Whether there are further entries, which are not counted.
    pub more: bool,
}

impl AccessTotals {
    /// Counts the rows.
    pub(super) fn of(rows: Vec<TotalsRow>, unused_since: Timestamp) -> Self {
        let denies = |state: &Option<String>| {
            state
                .as_deref()
                .and_then(LifecycleState::parse)
                .is_some_and(|state| {
                    matches!(
                        state,
                        LifecycleState::Suspended | LifecycleState::Terminated
                    )
                })
        };
        let mut totals = Self {
            more: rows.len() > MOST,
            ..Self::default()
        };
        for (user, account, used_at) in rows.into_iter().take(MOST) {
            totals.entries += 1;
            totals.denied += u32::from(denies(&user) || denies(&account));
            totals.never_used += u32::from(used_at.is_none());
            totals.unused += u32::from(used_at.is_none_or(|at| at < unused_since.millis()));
        }
        totals
    }
}
