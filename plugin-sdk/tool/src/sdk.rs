//! The SDK in a project. `new` copies it into the folder `vendor`, so that the project builds with only the toolchain
//! and the registries, without a checkout of Assent.
//!
//! A crate is a folder, because cargo does not read a packed crate from a path. An npm package is a tarball. Its bytes
//! are the same each time, because its digest is in the project's lock file.

use std::io::Write;

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compression, GzBuilder};
use toml::{Table, Value};

/// A file: its path and its text.
type SdkFile = (&'static str, &'static str);

macro_rules! sources {
    ($($path:literal),* $(,)?) => {
        [$(($path, include_str!(concat!("../../", $path)))),*]
    };
}

/// The files of the crate, without its Cargo.toml.
const CRATE: [SdkFile; 28] = sources![
    "src/approval.rs",
    "src/bindings.rs",
    "src/channel_exports.rs",
    "src/claims.rs",
    "src/delegated.rs",
    "src/description.rs",
    "src/fixtures/approval.rs",
    "src/fixtures/approval/outcome.rs",
    "src/fixtures/approval/script.rs",
    "src/fixtures/approval/vendor.rs",
    "src/fixtures/approval/verified.rs",
    "src/fixtures/bytes.rs",
    "src/fixtures/claims.rs",
    "src/fixtures/comparison.rs",
    "src/fixtures/fixture.rs",
    "src/fixtures/mod.rs",
    "src/fixtures/tests.rs",
    "src/http.rs",
    "src/lib.rs",
    "src/protected_claims.in",
    "src/log.rs",
    "src/values/grammar.json",
    "src/values/mod.rs",
    "src/values/template.rs",
    "src/values/types.rs",
    "wit/approval@1.0.0/approval.wit",
    "wit/claims@1.0.0/claims.wit",
    "wit/host@1.0.0/host.wit",
];

/// The files of the npm package, in the folder `typescript`.
const NPM: [SdkFile; 3] = sources![
    "typescript/package.json",
    "typescript/assent.ts",
    "typescript/host.d.ts"
];

const CARGO_TOML: &str = include_str!("../../Cargo.toml");
const WORKSPACE: &str = include_str!("../../../Cargo.toml");
/// The lock file, with the tested versions of the SDK's dependencies.
const CARGO_LOCK: &str = include_str!("../../../Cargo.lock");

/// The npm package in a project, as the project's package.json names it.
pub struct NpmPackage {
    /// The file's path in the project.
    pub path: String,
    /// The tarball.
    pub bytes: Vec<u8>,
    /// Its digest in the format of a lock file (W3C Subresource Integrity).
    pub integrity: String,
}

/// Returns the files of the crate in a project, with their paths there.
///
/// # Errors
/// The manifests of this checkout do not have the expected form. A test excludes this.
pub fn rust_crate() -> Result<Vec<(String, String)>> {
    let mut files = vec![("Cargo.toml".to_owned(), standalone(CARGO_TOML, WORKSPACE)?)];
    files.extend(CRATE.map(|(path, text)| (path.to_owned(), text.to_owned())));
    let vendored = |(path, text)| (format!("vendor/assent-plugin-sdk/{path}"), text);
    Ok(files.into_iter().map(vendored).collect())
}

/// Returns the first Cargo.lock of a project. Cargo removes packages that the project does not need.
pub fn cargo_lock() -> &'static str {
    CARGO_LOCK
}

/// Returns the npm package.
///
/// # Errors
/// The package cannot be created.
pub fn npm_package() -> Result<NpmPackage> {
    let mut tar = Vec::new();
    for (path, text) in NPM {
        let path = path.replacen("typescript/", "package/", 1);
        tar.extend(header(&path, text.len()));
        tar.extend(text.as_bytes());
        tar.resize(tar.len().next_multiple_of(BLOCK), 0);
    }
    tar.resize(tar.len() + 2 * BLOCK, 0);
    // Without a time and an operating system in the header, the same files result in the same bytes.
    let mut gzip = GzBuilder::new()
        .mtime(0)
        .operating_system(255)
        .write(Vec::new(), Compression::best());
    gzip.write_all(&tar)
        .context("the npm package cannot be packed")?;
    let bytes = gzip.finish().context("the npm package cannot be packed")?;
    let integrity = format!("sha512-{}", STANDARD.encode(openssl::sha::sha512(&bytes)));
    Ok(NpmPackage {
        path: format!("vendor/assent-plugin-sdk-{}.tgz", env!("CARGO_PKG_VERSION")),
        bytes,
        integrity,
    })
}

/// The size of a block of a tar archive.
const BLOCK: usize = 512;

/// Returns the header of a file in a tar archive (POSIX.1-1988, ustar), without an owner and a time.
fn header(path: &str, size: usize) -> Vec<u8> {
    let field = |text: &str, length: usize| {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(length, 0);
        bytes
    };
    let with = |checksum: &str| {
        [
            field(path, 100),
            field("0000644", 8),
            field("0000000", 8),
            field("0000000", 8),
            field(&format!("{size:011o}"), 12),
            field("00000000000", 12),
            field(checksum, 8),
            field("0", 1),
            field("", 100),
            field("ustar", 6),
            field("00", BLOCK - 263),
        ]
        .concat()
    };
    let checksum: u32 = with("        ").into_iter().map(u32::from).sum();
    with(&format!("{checksum:06o}\0 "))
}

/// Returns a member's Cargo.toml with the inherited values of its workspace, and without the dependencies of its tests.
fn standalone(manifest: &str, workspace: &str) -> Result<String> {
    let mut manifest: Table = manifest
        .parse()
        .context("the SDK's Cargo.toml cannot be read")?;
    let workspace: Table = workspace
        .parse()
        .context("the workspace's Cargo.toml cannot be read")?;
    let shared = |table: &str| workspace.get("workspace")?.get(table)?.as_table().cloned();
    let (package, dependencies) = shared("package")
        .zip(shared("dependencies"))
        .context("the workspace shares no package or dependencies")?;
    manifest.remove("dev-dependencies");
    manifest.remove("lints");
    if let Some(Value::Table(own)) = manifest.get_mut("package") {
        inherit(own, &package);
    }
    let targets = manifest
        .remove("target")
        .unwrap_or(Value::Table(Table::new()));
    if let Some(Value::Table(own)) = manifest.get_mut("dependencies") {
        inherit(own, &dependencies);
    }
    if let Value::Table(mut targets) = targets {
        for (_, target) in &mut targets {
            if let Some(Value::Table(own)) = target.get_mut("dependencies") {
                inherit(own, &dependencies);
            }
        }
        manifest.insert("target".to_owned(), Value::Table(targets));
    }
    toml::to_string(&manifest).context("the SDK's Cargo.toml cannot be written")
}

/// Replaces each `workspace = true` by the workspace's value. A member may set more keys of a dependency. The result
/// has the features of both.
fn inherit(own: &mut Table, shared: &Table) {
    for (name, value) in own.iter_mut() {
        let Value::Table(members) = value else {
            continue;
        };
        if members.remove("workspace").is_none() {
            continue;
        }
        let Some(from) = shared.get(name) else {
            continue;
        };
        if members.is_empty() {
            *value = from.clone();
            continue;
        }
        let mut whole = match from {
            Value::Table(table) => table.clone(),
            version => Table::from_iter([("version".to_owned(), version.clone())]),
        };
        for (key, more) in std::mem::take(members) {
            match (whole.get_mut(&key), more) {
                (Some(Value::Array(features)), Value::Array(more)) => features.extend(more),
                (_, more) => drop(whole.insert(key, more)),
            }
        }
        *value = Value::Table(whole);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::*;

    fn files(folder: &Path, found: &mut BTreeSet<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                files(&path, found);
            } else {
                found.insert(path);
            }
        }
    }

    #[test]
    fn every_file_of_the_sdk_is_in_a_project() {
        let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut found = BTreeSet::new();
        for folder in ["src", "wit", "typescript"] {
            files(&sdk.join(folder), &mut found);
        }
        let packed = CRATE
            .iter()
            .chain(&NPM)
            .map(|(path, _)| sdk.join(path))
            .collect();
        assert_eq!(found, packed);
    }

    #[test]
    fn the_crate_needs_no_workspace() {
        let files = rust_crate().expect("the crate");
        let (path, text) = &files[0];
        assert_eq!(path, "vendor/assent-plugin-sdk/Cargo.toml");
        assert!(
            !text.contains("workspace") && !text.contains("path ="),
            "{text}"
        );
        let manifest: Table = text.parse().expect("TOML");
        assert_eq!(
            manifest["package"]["version"].as_str(),
            Some(env!("CARGO_PKG_VERSION"))
        );
        assert_eq!(
            manifest["dependencies"]["base64"]["optional"].as_bool(),
            Some(true)
        );
        assert!(
            manifest["dependencies"]["wit-bindgen"]["features"]
                .as_array()
                .is_some_and(|list| !list.is_empty())
        );
        assert!(!manifest.contains_key("dev-dependencies"), "{text}");
    }

    #[test]
    fn both_languages_have_the_version_of_the_tool() {
        let package: serde_json::Value = serde_json::from_str(NPM[0].1).expect("JSON");
        assert_eq!(package["version"].as_str(), Some(env!("CARGO_PKG_VERSION")));
    }

    #[test]
    fn the_tarball_is_reproducible() {
        let [one, two] = [
            npm_package().expect("packed"),
            npm_package().expect("packed"),
        ];
        assert_eq!(one.bytes, two.bytes);
        // This uses an independent reader: tar verifies each header's checksum.
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("sdk.tgz");
        std::fs::write(&file, &one.bytes).expect("written");
        let unpacked = std::process::Command::new("tar")
            .arg("-xzf")
            .arg(&file)
            .arg("-C")
            .arg(folder.path())
            .status();
        assert!(unpacked.expect("tar").success());
        for (path, text) in NPM {
            let path = folder
                .path()
                .join(path.replacen("typescript/", "package/", 1));
            assert_eq!(std::fs::read_to_string(path).expect("a file"), text);
        }
    }
}
