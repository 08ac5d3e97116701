//! The settings of requests on the phone.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;

/// Cooldowns after denials and reports: for a while requests with the typed name are not sent to the user's devices. The browser
/// gets the same page as always. QR sign-ins and protected actions are always sent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Approvals {
    /// The seconds of the first cooldown, the second, and so on; the last for all further ones. The first begins at the
    /// second denial within `denial_window`. A vendor's denial counts as well. `[]`: no cooldown after denials.
    pub pauses: Vec<u32>,
    /// Two denials within so many seconds begin the first cooldown.
    pub denial_window: u32,
    /// The seconds without a denial after which the cooldowns begin with the first again. An approval does the same.
    pub forget_denials: u32,
    /// The least seconds of the cooldown after a report ("this was not me"). 0: as long as after a second denial.
    pub not_me_pause: u32,
}

impl Default for Approvals {
    fn default() -> Self {
        Self { pauses: vec![30, 120, 600, 3600], denial_window: 600, forget_denials: 86_400, not_me_pause: 4 * 3600 }
    }
}

impl Approvals {
    /// The lengths of the cooldowns.
    pub fn steps(&self) -> Vec<Duration> {
        self.pauses.iter().map(|seconds| Duration::from_secs((*seconds).into())).collect()
    }
}

/// What the types can't say.
pub(super) fn check(settings: &Settings, expect: &mut impl FnMut(bool, &str, &str)) {
    const DAY: u32 = 86_400;
    let Approvals { pauses, denial_window, forget_denials, not_me_pause } = &settings.approvals;
    expect(
        pauses.len() <= 20 && pauses.iter().all(|seconds| (1..=DAY).contains(seconds)),
        "approvals.pauses",
        "expected up to 20 times of 1 to 86400 seconds",
    );
    expect((1..=DAY).contains(denial_window), "approvals.denial_window", "expected 1 to 86400 seconds");
    expect((1..=30 * DAY).contains(forget_denials), "approvals.forget_denials", "expected 1 to 2592000 seconds");
    expect(*not_me_pause <= 7 * DAY, "approvals.not_me_pause", "expected 0 to 604800 seconds");
}
