//! The settings of keys.

use std::path::PathBuf;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::HumanDuration;

/// Checks what the types cannot express.
pub(super) fn check(keys: &Keys, expect: &mut impl FnMut(bool, &str, &str)) {
    let master_key = keys
        .master_key
        .as_ref()
        .map(|text| STANDARD.decode(text.trim()));
    expect(
        master_key.is_none_or(|key| key.is_ok_and(|key| key.len() == 32)),
        "keys.master_key",
        "expected 32 bytes of base64; `openssl rand -base64 32` makes them",
    );
    let Keys {
        rotation_interval,
        publish_ahead,
        ..
    } = *keys;
    rotation_interval.check(
        "keys.rotation_interval",
        (HumanDuration::ZERO, HumanDuration::days(3650)),
        expect,
    );
    publish_ahead.check(
        "keys.publish_ahead",
        (HumanDuration::hours(1), HumanDuration::days(30)),
        expect,
    );
    expect(
        rotation_interval.is_zero() || publish_ahead < rotation_interval,
        "keys.publish_ahead",
        &format!("expected less than {rotation_interval}, the value of keys.rotation_interval"),
    );
}

/// The master key, which encrypts the private keys in the database, and the rotation of signing keys.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Keys {
    /// The file with the master key, mode 0600. The first start creates it.
    pub master_key_file: PathBuf,
    /// Where the first start may create the file.
    pub create_file: CreateMasterKey,
    /// The master key itself, 32 bytes in base64, in place of the file. Intended for the environment:
    /// `ASSENT__KEYS__MASTER_KEY`.
    pub master_key: Option<String>,
    /// How long a key signs ID tokens until the next key does, up to `3650d`. `0s`: until `assent keys rotate`.
    pub rotation_interval: HumanDuration,
    /// How long a key is published before it signs, so that every application can fetch it: `1h` to `30d`.
    pub publish_ahead: HumanDuration,
}

/// Where the first start may create the file of the master key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CreateMasterKey {
    /// In every folder.
    #[default]
    Always,
    /// Only on a mounted volume, because other files of a container are lost with it.
    OnVolume,
    /// Nowhere: the operator creates it.
    Never,
}

impl Keys {
    /// How long a key signs; `None` if only a command rotates keys.
    pub fn rotation(&self) -> Option<Duration> {
        (!self.rotation_interval.is_zero()).then(|| self.rotation_interval.get())
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys")
            .field("master_key_file", &self.master_key_file)
            .finish_non_exhaustive()
    }
}

impl Default for Keys {
    fn default() -> Self {
        Self {
            master_key_file: PathBuf::from("data/master.key"),
            create_file: CreateMasterKey::Always,
            master_key: None,
            rotation_interval: HumanDuration::days(90),
            publish_ahead: HumanDuration::hours(24),
        }
    }
}
