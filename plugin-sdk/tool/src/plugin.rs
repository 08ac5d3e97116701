//! What the tool knows about a plugin's project before it builds it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// The project of a plugin.
#[derive(Debug)]
pub struct Plugin {
    /// Its folder.
    pub folder: PathBuf,
    /// Its `plugin.toml`.
    pub manifest: Manifest,
    /// What it is written in.
    pub source: Source,
}

/// What a plugin is written in.
#[derive(Debug)]
pub enum Source {
    /// Rust.
    Rust(Crate),
    /// TypeScript, with its npm packages.
    TypeScript,
    /// The component alone, as it was packed.
    Packed,
}

/// A cargo package that becomes a component.
#[derive(Debug)]
pub struct Crate {
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
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ValueEnum, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Decides what an application is told.
    ClaimMapper,
    /// Carries approval requests.
    ApprovalChannel,
    /// Puts approval requests to a vendor.
    DelegatedApprovalChannel,
}

impl Role {
    /// Whether it makes claims; else it carries approvals.
    pub fn is_mapper(self) -> bool {
        self == Self::ClaimMapper
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ClaimMapper => "claim-mapper",
            Self::ApprovalChannel => "approval-channel",
            Self::DelegatedApprovalChannel => "delegated-approval-channel",
        })
    }
}

/// `plugin.toml`: what the plugin is, and what it asks the operator for. An operator gets it with the last four keys, which
/// are made when the plugin is packed.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The name, which is that of the component's file, too.
    pub name: String,
    /// The version.
    #[serde(default)]
    pub version: String,
    /// The role.
    pub role: Role,
    /// What it does, in one sentence.
    #[serde(default)]
    pub summary: String,
    /// The claims it writes, `attribute:NAME` for SAML attributes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// Where the claims go that it is asked for; everywhere, if it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sinks: Option<Vec<String>>,
    /// The hosts that it sends requests to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The contract with its version, such as `assent:claims@1.0.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract: Option<String>,
    /// The component's file, beside this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The size of that file in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<usize>,
    /// The SHA-256 digest of that file, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
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
    /// Reads the project in a folder.
    pub fn read(folder: &Path) -> Result<Self> {
        let manifest = Manifest::read(&folder.join("plugin.toml"))?;
        let (cargo_toml, package_json) = (folder.join("Cargo.toml"), folder.join("package.json"));
        let source = if package_json.is_file() && !cargo_toml.is_file() {
            if manifest.role != Role::ClaimMapper {
                bail!(
                    "{}: a plugin in TypeScript is a claim-mapper; write {} in Rust",
                    folder.display(),
                    manifest.role
                );
            }
            Source::TypeScript
        } else if manifest.sha256.is_some() && !cargo_toml.is_file() {
            Source::Packed
        } else {
            Source::Rust(Crate::read(&cargo_toml)?)
        };
        Ok(Self { folder: folder.to_owned(), manifest, source })
    }

    /// Where its component is, once it was built.
    pub fn component(&self) -> PathBuf {
        let folder = match &self.source {
            Source::Rust(package) => package.target.join("plugins"),
            Source::TypeScript => self.folder.join("build"),
            Source::Packed => self.folder.clone(),
        };
        folder.join(format!("{}.wasm", self.manifest.name))
    }
}

impl Manifest {
    /// Reads a `plugin.toml`.
    pub fn read(file: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(file).with_context(|| {
            format!("{} can't be read; a plugin has this file with `name` and `role`", file.display())
        })?;
        let manifest: Self = toml::from_str(&text).with_context(|| format!("{} is not as expected", file.display()))?;
        if !is_name(&manifest.name) {
            bail!("{}: `name` may have lower-case letters, digits and `-`", file.display());
        }
        Ok(manifest)
    }
}

/// Whether this can be the name of a plugin: in settings, in the log, of a file.
pub fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.len() <= 64 && name.bytes().all(plain)
}

impl Crate {
    fn read(cargo_toml: &Path) -> Result<Self> {
        let metadata = metadata(cargo_toml)?;
        let canonical = cargo_toml.canonicalize().with_context(|| format!("{} can't be read", cargo_toml.display()))?;
        let package = metadata.packages.into_iter().find(|package| package.manifest_path == canonical);
        let package = package.with_context(|| format!("{} is no package", cargo_toml.display()))?;
        let library = package.targets.iter().find(|target| target.crate_types.iter().any(|kind| kind == "cdylib"));
        let library = library.with_context(|| {
            format!("{} needs `crate-type = [\"cdylib\", \"rlib\"]` under `[lib]`", cargo_toml.display())
        })?;
        Ok(Self {
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

    /// Why a folder with these files is no plugin.
    fn error(files: &[(&str, &str)]) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).expect("written");
        }
        format!("{:#}", Plugin::read(folder.path()).expect_err("not a plugin"))
    }

    const MANIFEST: (&str, &str) = ("plugin.toml", "name = \"a\"\nrole = \"claim-mapper\"");
    const LIBRARY: (&str, &str) = ("lib.rs", "");

    #[test]
    fn a_folder_that_is_no_plugin_is_explained() {
        assert!(error(&[]).contains("plugin.toml can't be read; a plugin has this file with `name` and `role`"));
        assert!(error(&[("plugin.toml", "name = \"a\"\nrole = \"king\"")]).contains("`claim-mapper`"));
        let unknown = error(&[("plugin.toml", "name = \"a\"\nrole = \"claim-mapper\"\nwrite = [\"groups\"]")]);
        assert!(unknown.contains("unknown field `write`") && unknown.contains("`writes`"), "{unknown}");
        assert!(error(&[("plugin.toml", "name = \"../a\"\nrole = \"claim-mapper\"")]).contains("lower-case letters"));
        assert!(error(&[MANIFEST]).contains("cargo can't read"));
        let plain = "[package]\nname = \"a\"\n[lib]\npath = \"lib.rs\"";
        assert!(error(&[MANIFEST, LIBRARY, ("Cargo.toml", plain)]).contains("`crate-type = [\"cdylib\", \"rlib\"]`"));
        let channel = ("plugin.toml", "name = \"a\"\nrole = \"approval-channel\"");
        assert!(error(&[channel, ("package.json", "{}")]).contains("write approval-channel in Rust"));
    }

    #[test]
    fn a_plugin_crate_is_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/account-roles");
        let plugin = Plugin::read(&folder).expect("a plugin");
        assert_eq!((plugin.manifest.name.as_str(), plugin.manifest.role), ("account-roles", Role::ClaimMapper));
        assert_eq!(plugin.manifest.writes, ["account"]);
        assert!(plugin.component().ends_with("plugins/account-roles.wasm"));
        let Source::Rust(package) = &plugin.source else { panic!("a crate") };
        assert_eq!((package.package.as_str(), package.module.as_str()), ("account-roles", "account_roles.wasm"));
        assert!(package.has_profile());
    }
}
