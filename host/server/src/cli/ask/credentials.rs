//! The credentials of the application that asks.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use serde::Deserialize;

use assent_model::secret::Secret;

/// The accepted permissions of the file: only its owner may read it.
const MODES: [u32; 2] = [0o600, 0o400];
/// The largest file, in bytes.
const LARGEST: u64 = 16 * 1024;

/// The credentials of an application at an issuer.
#[derive(Debug)]
pub(super) struct Credentials {
    /// The issuer's URL.
    pub(super) issuer: String,
    /// The client ID.
    pub(super) client_id: String,
    /// The client secret.
    pub(super) secret: Secret,
}

/// The content of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CredentialsFile {
    issuer: String,
    client_id: String,
    client_secret: String,
}

impl Credentials {
    /// Reads a file. The permissions are those of the opened file, so that no other process can exchange it in between.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let name = || path.display().to_string();
        let file = File::open(path).with_context(name)?;
        let metadata = file.metadata().with_context(name)?;
        ensure!(metadata.is_file(), "{}: it is not a file", name());
        let mode = metadata.permissions().mode() & 0o7777;
        ensure!(
            MODES.contains(&mode),
            "{0}: its permissions are {mode:04o}, so others may read or change the secret: run chmod 600 {0}, and \
             replace the secret if others had access",
            name()
        );
        let mut text = String::new();
        file.take(LARGEST + 1)
            .read_to_string(&mut text)
            .with_context(name)?;
        ensure!(text.len() as u64 <= LARGEST, "{}: it is too large", name());
        // The error of the parser quotes the line, which may have the secret.
        let Ok(read) = toml::from_str::<CredentialsFile>(&text) else {
            bail!(
                "{}: expected a TOML file with only the texts issuer, client_id and client_secret",
                name()
            );
        };
        Ok(Self {
            issuer: read.issuer.trim_end_matches('/').to_owned(),
            client_id: read.client_id,
            secret: Secret::new(read.client_secret),
        })
    }
}

/// Returns the path of the file in the user's configuration (XDG Base Directory Specification).
pub(super) fn default_path() -> anyhow::Result<PathBuf> {
    let absolute = |name: &str| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let folder = absolute("XDG_CONFIG_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".config")))
        .context("neither XDG_CONFIG_HOME nor HOME is set: name the file with --credentials")?;
    Ok(folder.join("assent").join("ask.toml"))
}
