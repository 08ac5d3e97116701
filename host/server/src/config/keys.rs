//! The settings of keys.

use std::path::PathBuf;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::HumanDuration;

/// Checks the rules that the types cannot express.
pub(super) fn check(keys: &Keys, expect: &mut impl FnMut(bool, &str, &str)) {
    for (name, text) in [
        ("keys.master_key", &keys.master_key),
        ("keys.previous_master_key", &keys.previous_master_key),
    ] {
        let key = text.as_ref().map(|text| STANDARD.decode(text.trim()));
        expect(
            key.is_none_or(|key| key.is_ok_and(|key| key.len() == 32)),
            name,
            "expected 32 bytes of base64; `openssl rand -base64 32` prints them",
        );
    }
    let token = keys.pkcs11.as_ref();
    expect(
        keys.master_key.is_none() || token.is_none_or(|token| token.key.is_none()),
        "keys.pkcs11.key",
        "expected either this key or keys.master_key",
    );
    let previous = [
        keys.previous_master_key.is_some(),
        keys.previous_master_key_file.is_some(),
        token.is_some_and(|token| token.previous_key.is_some()),
    ];
    expect(
        previous.into_iter().filter(|is_set| *is_set).count() <= 1,
        "keys.previous_master_key",
        "expected one of keys.previous_master_key, keys.previous_master_key_file and keys.pkcs11.previous_key",
    );
    let Keys {
        rotation_interval,
        publish_ahead,
        ..
    } = *keys;
    rotation_interval.check(
        "keys.rotation_interval",
        HumanDuration::ZERO..=HumanDuration::days(3650),
        expect,
    );
    publish_ahead.check(
        "keys.publish_ahead",
        HumanDuration::hours(1)..=HumanDuration::days(30),
        expect,
    );
    expect(
        rotation_interval.is_zero() || publish_ahead < rotation_interval,
        "keys.publish_ahead",
        &format!("expected less than {rotation_interval}, the value of keys.rotation_interval"),
    );
}

/// The master key, which encrypts the keys in the database, and the rotation of signing keys.
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
    /// The file with the master key that was replaced. Remove the key when `assent admin master-key` says that it is
    /// not needed any more.
    pub previous_master_key_file: Option<PathBuf>,
    /// The master key that was replaced, in place of the file.
    pub previous_master_key: Option<String>,
    /// A token that keeps master keys, in place of files.
    pub pkcs11: Option<Pkcs11>,
    /// How long a key signs ID tokens until the next key does, up to `3650d`. `0s`: until `assent keys rotate`.
    pub rotation_interval: HumanDuration,
    /// How long a key is published before it signs, so that every application can fetch it: `1h` to `30d`.
    pub publish_ahead: HumanDuration,
}

/// A PKCS#11 token: a hardware security module, or the PKCS#11 library of a key management service. A key in it is an
/// AES key of 256 bits that may encrypt and decrypt with AES-GCM. It never leaves the token.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pkcs11 {
    /// The library of the token's vendor.
    pub module: PathBuf,
    /// The label of the token.
    pub token: String,
    /// The file with the PIN of the token's user.
    pub pin_file: PathBuf,
    /// The label of the master key, in place of `keys.master_key_file`.
    pub key: Option<String>,
    /// The label of the master key that was replaced.
    pub previous_key: Option<String>,
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
    /// Returns the time for which a key signs. `None`: only a command rotates keys.
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
            previous_master_key_file: None,
            previous_master_key: None,
            pkcs11: None,
            rotation_interval: HumanDuration::days(90),
            publish_ahead: HumanDuration::hours(24),
        }
    }
}
