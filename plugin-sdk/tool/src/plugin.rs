//! The information about a plugin's project before its build.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use assent_model::text::to_utf8;

/// The file with a plugin's description and its requests.
pub const MANIFEST: &str = "plugin.toml";

/// A folder with a plugin: its project, or the output of `pack`.
#[derive(Debug)]
pub struct Plugin {
    /// The folder.
    pub folder: PathBuf,
    /// The plugin's name, which is the name of its package.
    pub name: String,
    /// The content of the folder.
    pub source: PluginSource,
}

/// The content of a plugin's folder.
#[derive(Debug)]
pub enum PluginSource {
    /// Rust.
    Rust(Crate),
    /// TypeScript, with its npm packages.
    TypeScript,
    /// The component and its `plugin.toml`, as `pack` wrote them.
    Packed(Manifest),
}

/// A cargo package that becomes a component.
#[derive(Debug)]
pub struct Crate {
    /// The cargo package.
    pub package: String,
    /// The role of the SDK's feature that the package uses; `None` for a package with bindings of its own.
    pub role: Option<Role>,
    /// The file that cargo builds, in the folder of the target and profile.
    pub module: String,
    /// The folder of the workspace's Cargo.toml.
    pub workspace: PathBuf,
    /// Cargo's target folder.
    pub target: PathBuf,
}

/// The roles of plugins.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ValueEnum, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Decides which claims an application receives.
    ClaimMapper,
    /// Carries approval requests.
    ApprovalChannel,
    /// Sends approval requests to a vendor.
    DelegatedApprovalChannel,
}

impl Role {
    /// Returns the role that needs this feature of the SDK.
    fn of_feature(feature: &str) -> Option<Self> {
        match feature {
            "claim-mapper" | "values" => Some(Self::ClaimMapper),
            "approval-channel" => Some(Self::ApprovalChannel),
            "delegated-approval-channel" => Some(Self::DelegatedApprovalChannel),
            _ => None,
        }
    }

    /// Returns whether the role writes claims. The other roles carry approval requests.
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

/// `plugin.toml`: the plugin's description, and its requests to the operator. The tool generates the file from the
/// component, so that the author states everything only in the code. `pack` adds the last four keys.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The name, which is also the name of the component's file.
    pub name: String,
    /// The version.
    #[serde(default)]
    pub version: String,
    /// The role.
    pub role: Role,
    /// The task of the plugin, in one sentence.
    #[serde(default)]
    pub summary: String,
    /// The claims that it writes, with `attribute:NAME` for SAML attributes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// The destinations of claims for which it runs. All destinations, if it names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sinks: Option<Vec<String>>,
    /// The hosts to which it sends requests.
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
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    features: Vec<String>,
}

/// The part of a `package.json` that the tool reads.
#[derive(Deserialize)]
struct NpmPackage {
    name: String,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    crate_types: Vec<String>,
}

impl Plugin {
    /// Reads the project or the packed plugin in a folder.
    ///
    /// # Errors
    /// If the folder has no plugin, or its files cannot be read.
    pub fn read(folder: &Path) -> Result<Self> {
        let [cargo_toml, package_json, manifest] =
            ["Cargo.toml", "package.json", MANIFEST].map(|name| folder.join(name));
        let (file, name, source) = if cargo_toml.is_file() {
            let package = Crate::read(&cargo_toml)?;
            (
                cargo_toml,
                package.package.clone(),
                PluginSource::Rust(package),
            )
        } else if package_json.is_file() {
            let name = NpmPackage::read(&package_json)?.name;
            (package_json, name, PluginSource::TypeScript)
        } else if manifest.is_file() {
            let packed = Manifest::read(&manifest)?;
            (manifest, packed.name.clone(), PluginSource::Packed(packed))
        } else {
            bail!(
                "{} is not a plugin: it has no Cargo.toml, no package.json and no plugin.toml; specify the folder of a \
                 project, or of a packed plugin",
                folder.display()
            );
        };
        if !is_name(&name) {
            bail!(
                "{}: `name` may have lower-case letters, digits and `-`",
                file.display()
            );
        }
        Ok(Self {
            folder: folder.to_owned(),
            name,
            source,
        })
    }

    /// Returns the path of the component after the build.
    pub fn component(&self) -> PathBuf {
        let folder = match &self.source {
            PluginSource::Rust(package) => package.target.join("plugins"),
            PluginSource::TypeScript => self.folder.join("build"),
            PluginSource::Packed(_) => self.folder.clone(),
        };
        folder.join(format!("{}.wasm", self.name))
    }
}

impl NpmPackage {
    fn read(file: &Path) -> Result<Self> {
        let text = std::fs::read(file)
            .and_then(to_utf8)
            .with_context(|| format!("{} cannot be read", file.display()))?;
        serde_json::from_str(&text)
            .with_context(|| format!("{} is not as expected", file.display()))
    }
}

impl Manifest {
    /// Reads the `plugin.toml` of a packed plugin.
    fn read(file: &Path) -> Result<Self> {
        let text = std::fs::read(file)
            .and_then(to_utf8)
            .with_context(|| format!("{} cannot be read", file.display()))?;
        let manifest: Self = toml::from_str(&text)
            .with_context(|| format!("{} is not as expected", file.display()))?;
        if manifest.sha256.is_none() {
            bail!(
                "{} has no `sha256`, so it does not belong to a packed plugin",
                file.display()
            );
        }
        Ok(manifest)
    }
}

/// Returns whether a text is a valid name of a plugin: for settings, the log and a file.
pub fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.len() <= 64 && name.bytes().all(plain)
}

impl Crate {
    fn read(cargo_toml: &Path) -> Result<Self> {
        let metadata = metadata(cargo_toml)?;
        let canonical = cargo_toml
            .canonicalize()
            .with_context(|| format!("{} cannot be read", cargo_toml.display()))?;
        let package = metadata
            .packages
            .into_iter()
            .find(|package| package.manifest_path == canonical);
        let package =
            package.with_context(|| format!("{} is not a package", cargo_toml.display()))?;
        let library = package
            .targets
            .iter()
            .find(|target| target.crate_types.iter().any(|kind| kind == "cdylib"));
        let library = library.with_context(|| {
            format!(
                "{} needs `crate-type = [\"cdylib\", \"rlib\"]` under `[lib]`",
                cargo_toml.display()
            )
        })?;
        let role = role(&package.dependencies).with_context(|| cargo_toml.display().to_string())?;
        Ok(Self {
            role,
            module: format!("{}.wasm", library.name.replace('-', "_")),
            package: package.name,
            workspace: metadata.workspace_root,
            target: metadata.target_directory,
        })
    }

    /// Returns whether the workspace has the profile `plugin`.
    pub fn has_profile(&self) -> bool {
        let text = std::fs::read(self.workspace.join("Cargo.toml"))
            .and_then(to_utf8)
            .unwrap_or_default();
        let manifest: toml::Table = toml::from_str(&text).unwrap_or_default();
        manifest
            .get("profile")
            .and_then(|profiles| profiles.get("plugin"))
            .is_some()
    }
}

/// Returns the role of the SDK's feature that a package enables.
fn role(dependencies: &[Dependency]) -> Result<Option<Role>> {
    let sdk = dependencies
        .iter()
        .filter(|dependency| dependency.name == "assent-plugin-sdk");
    let mut roles: Vec<Role> = Vec::new();
    for role in sdk
        .flat_map(|sdk| &sdk.features)
        .filter_map(|feature| Role::of_feature(feature))
    {
        if !roles.contains(&role) {
            roles.push(role);
        }
    }
    match roles.as_slice() {
        [] => Ok(None),
        [role] => Ok(Some(*role)),
        _ => bail!("a component has one role; enable one feature of assent-plugin-sdk"),
    }
}

/// Reads the metadata of a package from cargo.
fn metadata(cargo_toml: &Path) -> Result<Metadata> {
    let output = Command::new("cargo")
        .args([
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
            "--manifest-path",
        ])
        .arg(cargo_toml)
        .stderr(Stdio::inherit())
        .output()
        .context("cargo cannot be run; is a Rust toolchain installed?")?;
    if !output.status.success() {
        bail!("cargo cannot read {}", cargo_toml.display());
    }
    serde_json::from_slice(&output.stdout).context("cargo's answer cannot be read")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the error for a folder with these files, which is no plugin.
    fn error(files: &[(&str, &str)]) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).expect("written");
        }
        format!(
            "{:#}",
            Plugin::read(folder.path()).expect_err("not a plugin")
        )
    }

    const LIBRARY: (&str, &str) = ("lib.rs", "");

    #[test]
    fn an_invalid_plugin_folder_is_explained() {
        assert!(
            error(&[]).contains(
                "is not a plugin: it has no Cargo.toml, no package.json and no plugin.toml"
            )
        );
        assert!(error(&[("package.json", "{}")]).contains("missing field `name`"));
        assert!(error(&[("package.json", r#"{"name": "../a"}"#)]).contains("lower-case letters"));
        let packed = |text: &str| error(&[("plugin.toml", text)]);
        assert!(packed("name = \"a\"\nrole = \"king\"").contains("`claim-mapper`"));
        let unknown = packed("name = \"a\"\nrole = \"claim-mapper\"\nwrite = [\"groups\"]");
        assert!(
            unknown.contains("unknown field `write`") && unknown.contains("`writes`"),
            "{unknown}"
        );
        assert!(
            packed("name = \"a\"\nrole = \"claim-mapper\"")
                .contains("does not belong to a packed plugin")
        );
        assert!(error(&[("Cargo.toml", "")]).contains("cargo cannot read"));
        let plain = "[package]\nname = \"a\"\n[lib]\npath = \"lib.rs\"";
        assert!(
            error(&[LIBRARY, ("Cargo.toml", plain)])
                .contains("`crate-type = [\"cdylib\", \"rlib\"]`")
        );
        let two = "[package]\nname = \"a\"\n[lib]\npath = \"lib.rs\"\ncrate-type = [\"cdylib\"]\n[dependencies]\n\
                   assent-plugin-sdk = { path = \"sdk\", features = [\"claim-mapper\", \"approval-channel\"] }";
        assert!(
            error(&[LIBRARY, ("Cargo.toml", two)])
                .contains("enable one feature of assent-plugin-sdk")
        );
    }

    #[test]
    fn a_plugin_crate_is_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/account-roles");
        let plugin = Plugin::read(&folder).expect("a plugin");
        assert_eq!(plugin.name, "account-roles");
        assert!(plugin.component().ends_with("plugins/account-roles.wasm"));
        let PluginSource::Rust(package) = &plugin.source else {
            panic!("a crate")
        };
        assert_eq!(
            (package.package.as_str(), package.module.as_str()),
            ("account-roles", "account_roles.wasm")
        );
        assert_eq!(package.role, Some(Role::ClaimMapper));
        assert!(package.has_profile());
    }
}
