//! The settings of requests on the phone.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Settings;

/// What follows when a person denies a request: for a while new ones reach no phone of theirs, so that nobody is worn down
/// by requests. The browser sees the same as ever.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Approvals {
    /// For how many seconds, after the first denial, the second in a row, and so on; the last holds for all further ones.
    /// A number typed wrong too often is a denial, and so is a vendor's. `[]`: no pauses.
    pub pauses: Vec<u32>,
    /// After how many seconds without a denial they begin anew. An approval does the same.
    pub forget_denials: u32,
    /// For how many seconds after "this was not me". 0: as after a denial.
    pub not_me_pause: u32,
}

impl Default for Approvals {
    fn default() -> Self {
        Self { pauses: vec![30, 120, 600, 3600], forget_denials: 86_400, not_me_pause: 4 * 3600 }
    }
}

impl Approvals {
    /// How long each pause is.
    pub fn steps(&self) -> Vec<Duration> {
        self.pauses.iter().map(|seconds| Duration::from_secs((*seconds).into())).collect()
    }
}

/// What the types can't say.
pub(super) fn check(settings: &Settings, expect: &mut impl FnMut(bool, &str, &str)) {
    const DAY: u32 = 86_400;
    let Approvals { pauses, forget_denials, not_me_pause } = &settings.approvals;
    expect(
        pauses.len() <= 20 && pauses.iter().all(|seconds| (1..=DAY).contains(seconds)),
        "approvals.pauses",
        "expected up to 20 times of 1 to 86400 seconds",
    );
    expect((1..=30 * DAY).contains(forget_denials), "approvals.forget_denials", "expected 1 to 2592000 seconds");
    expect(*not_me_pause <= 7 * DAY, "approvals.not_me_pause", "expected 0 to 604800 seconds");
}
