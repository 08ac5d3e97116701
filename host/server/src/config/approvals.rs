//! The settings of approval requests.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::HumanDuration;

/// Cooldowns after denials and reports: for a while requests with the typed name are held. The server sends them to the
/// user's devices when the cooldown ends, if the sign-in page still waits. The browser receives the same page as
/// always. QR sign-ins and protected actions of a console session are always sent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Approvals {
    /// The lengths of the first cooldown, the second, and so on. The last length applies to all further cooldowns. The
    /// first begins at the second denial within `denial_window`. A vendor's denial counts as well. `[]`: no cooldown
    /// after denials.
    pub denial_cooldowns: Vec<HumanDuration>,
    /// Two denials within this time begin the first cooldown.
    pub denial_window: HumanDuration,
    /// After this time without a denial the cooldowns begin with the first again. An approval does the same.
    pub denial_reset_after: HumanDuration,
    /// The shortest cooldown after a report ("this was not me"). `0s`: as long as after a second denial.
    pub report_cooldown: HumanDuration,
}

impl Default for Approvals {
    fn default() -> Self {
        Self {
            denial_cooldowns: vec![
                HumanDuration::seconds(30),
                HumanDuration::minutes(2),
                HumanDuration::minutes(10),
                HumanDuration::hours(1),
            ],
            denial_window: HumanDuration::minutes(10),
            denial_reset_after: HumanDuration::days(1),
            report_cooldown: HumanDuration::hours(4),
        }
    }
}

impl Approvals {
    /// Returns the lengths of the cooldowns.
    pub fn cooldowns(&self) -> Vec<Duration> {
        self.denial_cooldowns
            .iter()
            .map(|cooldown| cooldown.get())
            .collect()
    }
}

/// Checks the rules that the types cannot express.
pub(super) fn check(approvals: &Approvals, expect: &mut impl FnMut(bool, &str, &str)) {
    const SECOND: HumanDuration = HumanDuration::seconds(1);
    const DAY: HumanDuration = HumanDuration::days(1);
    let Approvals {
        denial_cooldowns,
        denial_window,
        denial_reset_after,
        report_cooldown,
    } = approvals;
    expect(
        denial_cooldowns.len() <= 20,
        "approvals.denial_cooldowns",
        "expected 20 durations at most",
    );
    for cooldown in denial_cooldowns {
        cooldown.check("approvals.denial_cooldowns", SECOND..=DAY, expect);
    }
    denial_window.check("approvals.denial_window", SECOND..=DAY, expect);
    denial_reset_after.check(
        "approvals.denial_reset_after",
        SECOND..=HumanDuration::days(30),
        expect,
    );
    report_cooldown.check(
        "approvals.report_cooldown",
        HumanDuration::ZERO..=HumanDuration::days(7),
        expect,
    );
}
