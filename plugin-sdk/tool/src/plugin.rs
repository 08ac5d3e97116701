//! What the tool knows about a plugin crate before it builds it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// A plugin crate.
#[derive(Debug)]
pub struct Plugin {
    /// The name in `plugin.toml`.
    pub name: String,
    /// The role in `plugin.toml`.
    pub role: Role,
    /// The cargo package.
    pub package: String,
    /// The file that cargo makes of it, in the folder of the target and profile.
    pub module: String,
    /// Where the workspace's Cargo.toml is.
    pub workspace: PathBuf,
    /// Where cargo puts what it builds.
    pub target: PathBuf,
}

/// The roles a plugin can have.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Decides what an application is told.
    ClaimMapper,
    /// Carries approval requests.
    ApprovalChannel,
    /// Puts approval requests to a vendor.
    DelegatedApprovalChannel,
}

/// `plugin.toml`, as far as it matters here.
#[derive(Deserialize)]
struct Manifest {
    name: String,
    role: Role,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_root: PathBuf,
    target_directory: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    crate_types: Vec<String>,
}

impl Plugin {
    /// Reads the crate in a folder.
    pub fn read(folder: &Path) -> Result<Self> {
        let manifest = folder.join("plugin.toml");
        let text = std::fs::read_to_string(&manifest).with_context(|| {
            format!("{} can't be read; a plugin has this file with `name` and `role`", manifest.display())
        })?;
        let Manifest { name, role } =
            toml::from_str(&text).with_context(|| format!("{} is not as expected", manifest.display()))?;
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if name.is_empty() || !name.bytes().all(plain) {
            bail!("{}: `name` may have lower-case letters, digits and `-`", manifest.display());
        }
        let cargo_toml = folder.join("Cargo.toml");
        let metadata = metadata(&cargo_toml)?;
        let canonical = cargo_toml.canonicalize().with_context(|| format!("{} can't be read", cargo_toml.display()))?;
        let package = metadata.packages.into_iter().find(|package| package.manifest_path == canonical);
        let package = package.with_context(|| format!("{} is no package", cargo_toml.display()))?;
        let library = package.targets.iter().find(|target| target.crate_types.iter().any(|kind| kind == "cdylib"));
        let library = library.with_context(|| {
            format!("{} needs `crate-type = [\"cdylib\", \"rlib\"]` under `[lib]`", cargo_toml.display())
        })?;
        Ok(Self {
            name,
            role,
            module: format!("{}.wasm", library.name.replace('-', "_")),
            package: package.name,
            workspace: metadata.workspace_root,
            target: metadata.target_directory,
        })
    }

    /// Whether its workspace has the profile `plugin`.
    pub fn has_profile(&self) -> bool {
        let text = std::fs::read_to_string(self.workspace.join("Cargo.toml")).unwrap_or_default();
        let manifest: toml::Table = toml::from_str(&text).unwrap_or_default();
        manifest.get("profile").and_then(|profiles| profiles.get("plugin")).is_some()
    }
}

/// Asks cargo about a package.
fn metadata(cargo_toml: &Path) -> Result<Metadata> {
    let output = Command::new("cargo")
        .args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"])
        .arg(cargo_toml)
        .stderr(Stdio::inherit())
        .output()
        .context("cargo can't be run; is a Rust toolchain installed?")?;
    if !output.status.success() {
        bail!("cargo can't read {}", cargo_toml.display());
    }
    serde_json::from_slice(&output.stdout).context("cargo's answer can't be read")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Why a folder with these files is no plugin crate.
    fn error(files: &[(&str, &str)]) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).expect("written");
        }
        format!("{:#}", Plugin::read(folder.path()).expect_err("not a plugin crate"))
    }

    const MANIFEST: (&str, &str) = ("plugin.toml", "name = \"a\"\nrole = \"claim-mapper\"");
    const LIBRARY: (&str, &str) = ("lib.rs", "");

    #[test]
    fn a_folder_that_is_no_plugin_crate_is_explained() {
        assert!(error(&[]).contains("plugin.toml can't be read; a plugin has this file with `name` and `role`"));
        assert!(error(&[("plugin.toml", "name = \"a\"\nrole = \"king\"")]).contains("`claim-mapper`"));
        assert!(error(&[("plugin.toml", "name = \"../a\"\nrole = \"claim-mapper\"")]).contains("lower-case letters"));
        assert!(error(&[MANIFEST]).contains("cargo can't read"));
        let plain = "[package]\nname = \"a\"\n[lib]\npath = \"lib.rs\"";
        assert!(error(&[MANIFEST, LIBRARY, ("Cargo.toml", plain)]).contains("`crate-type = [\"cdylib\", \"rlib\"]`"));
    }

    #[test]
    fn a_plugin_crate_is_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/account-roles");
        let plugin = Plugin::read(&folder).expect("a plugin crate");
        assert_eq!((plugin.name.as_str(), plugin.role), ("account-roles", Role::ClaimMapper));
        assert_eq!((plugin.package.as_str(), plugin.module.as_str()), ("account-roles", "account_roles.wasm"));
        assert!(plugin.has_profile());
    }
}
