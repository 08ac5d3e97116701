//! The files of a manifest.

use std::io::Read;
use std::path::{Component, Path, PathBuf};

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use assent_admin_client::error::CommandError;
use assent_model::logo::{ApplicationLogo, LARGEST};
use assent_model::text::to_utf8;

/// Reads manifests, and joins those of one owner.
///
/// # Errors
/// [`CommandError`] if a file cannot be read, is not a manifest, or has another owner.
pub(super) fn read(files: &[PathBuf]) -> anyhow::Result<Value> {
    let mut joined: Option<(PathBuf, Map<String, Value>)> = None;
    for file in in_folders(files)? {
        let manifest = manifest(&file)?;
        joined = Some(match joined {
            None => (file, manifest),
            Some((first, mut known)) => {
                join(&mut known, manifest)
                    .map_err(|why| wrong(&file, &format!("{why} of {}", first.display())))?;
                (first, known)
            }
        });
    }
    match joined {
        Some((_, manifest)) => Ok(Value::Object(manifest)),
        None => Err(CommandError::usage(
            "the folder has no manifest: no file ends with .toml or .json",
        )),
    }
}

/// Returns the files, and the files in the folders among them, in the order of their names.
fn in_folders(files: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for file in files {
        if !file.is_dir() {
            found.push(file.clone());
            continue;
        }
        let entries = std::fs::read_dir(file).map_err(|error| wrong(file, &error.to_string()))?;
        let mut paths = entries
            .map(|entry| Ok(entry?.path()))
            .collect::<std::io::Result<Vec<PathBuf>>>()
            .with_context(|| file.display().to_string())?;
        let is_manifest = |path: &Path| {
            let extension = path.extension().unwrap_or_default();
            path.is_file() && (extension == "toml" || extension == "json")
        };
        paths.retain(|path| is_manifest(path));
        paths.sort();
        found.extend(paths);
    }
    Ok(found)
}

fn manifest(file: &Path) -> anyhow::Result<Map<String, Value>> {
    let text = if file.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .and_then(|_| to_utf8(bytes))
            .map_err(|error| wrong(file, &error.to_string()))?
    } else {
        std::fs::read(file)
            .and_then(to_utf8)
            .map_err(|error| wrong(file, &error.to_string()))?
    };
    // A table of TOML does not begin with a brace.
    let read = if text.trim_start().starts_with('{') {
        serde_json::from_str(&text).map_err(|error| error.to_string())
    } else {
        toml::from_str(&text).map_err(|error| error.to_string())
    };
    let mut manifest: Map<String, Value> = read.map_err(|error| wrong(file, &error))?;
    let folder = file.parent().unwrap_or_else(|| Path::new(""));
    let applications = manifest.get_mut("applications");
    let applications = applications.and_then(Value::as_array_mut);
    for application in applications.into_iter().flatten() {
        if let Some(application) = application.as_object_mut() {
            include_logo(application, folder).map_err(|why| wrong(file, &why))?;
        }
    }
    Ok(manifest)
}

/// Replaces `logo_file`, a path from the folder of the manifest, by `logo`, the image in base64. Only an image in this
/// folder is read: the server receives no other file.
fn include_logo(application: &mut Map<String, Value>, folder: &Path) -> Result<(), String> {
    let Some(path) = application.remove("logo_file") else {
        return Ok(());
    };
    let Value::String(path) = path else {
        return Err("logo_file: expected a path".to_owned());
    };
    if application.contains_key("logo") {
        return Err("logo_file: expected either logo or logo_file".to_owned());
    }
    let is_inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if !Path::new(&path).components().all(is_inside) {
        return Err(format!(
            "logo_file {path}: expected a path in the folder of the manifest, without .."
        ));
    }
    let logo = image(folder, Path::new(&path));
    let logo = logo.map_err(|why| format!("logo_file {path}: {why}"))?;
    application.insert(
        "logo".to_owned(),
        Value::String(STANDARD.encode(logo.bytes)),
    );
    Ok(())
}

/// Adds the lists of another manifest of the same owner.
fn join(known: &mut Map<String, Value>, other: Map<String, Value>) -> Result<(), String> {
    for (name, value) in other {
        match (known.get_mut(&name), value) {
            (Some(Value::Array(all)), Value::Array(more)) => all.extend(more),
            (None, value) => {
                known.insert(name, value);
            }
            (Some(one), other) if *one == other => {}
            (Some(_), _) => return Err(format!("{name} differs from that")),
        }
    }
    Ok(())
}

/// Reads the image from a regular file of the folder. Links to other folders are rejected.
fn image(folder: &Path, path: &Path) -> Result<ApplicationLogo, String> {
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let real = |path: &Path| path.canonicalize().map_err(|error| error.to_string());
    let file = real(&folder.join(path))?;
    if !file.starts_with(real(folder)?) || !file.is_file() {
        return Err("expected a file in the folder of the manifest".to_owned());
    }
    let opened = std::fs::File::open(&file).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    opened
        .take(LARGEST as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    ApplicationLogo::new(bytes).map_err(|error| error.to_string())
}

fn wrong(file: &Path, why: &str) -> anyhow::Error {
    CommandError::usage(format!("--file {}: {why}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("written");
        path
    }

    #[test]
    fn toml_and_json_are_the_same_manifest() {
        let folder = tempfile::tempdir().expect("a folder");
        let toml = write(
            folder.path(),
            "a.toml",
            "owner = \"team\"\n[[groups]]\nkey = \"one\"\nname = \"One\"\n",
        );
        let json = write(
            folder.path(),
            "b.json",
            r#"{"owner": "team", "groups": [{"key": "two", "name": "Two"}]}"#,
        );
        write(folder.path(), "notes.md", "no manifest");
        let joined = read(&[folder.path().to_owned()]).expect("joined");
        let expected = serde_json::json!({"owner": "team", "groups": [
            {"key": "one", "name": "One"}, {"key": "two", "name": "Two"}]});
        assert_eq!(joined, expected);
        assert_eq!(read(&[toml, json]).expect("joined"), expected);
    }

    #[test]
    fn a_logo_file_is_an_image_in_the_folder_of_the_manifest() {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = folder.path().join("manifests");
        std::fs::create_dir(&inner).expect("a folder");
        for image in [inner.join("wiki.png"), folder.path().join("other.png")] {
            std::fs::write(image, b"\x89PNG\r\n\x1a\nIHDR").expect("written");
        }
        write(&inner, "secret.txt", "secret");
        std::os::unix::fs::symlink("/dev/zero", inner.join("endless.png")).expect("a link");
        std::os::unix::fs::symlink("../other.png", inner.join("link.png")).expect("a link");
        let with = |members: &str| {
            let text = format!("owner = \"team\"\n[[applications]]\nkey = \"wiki\"\n{members}\n");
            read(&[write(&inner, "a.toml", &text)])
        };
        let read = with("logo_file = \"./wiki.png\"").expect("read");
        let expected = serde_json::json!([{"key": "wiki", "logo": "iVBORw0KGgpJSERS"}]);
        assert_eq!(read["applications"], expected);
        for (members, why) in [
            (
                "logo_file = \"secret.txt\"",
                "expected an image in PNG, JPEG or WebP format",
            ),
            ("logo_file = \"missing.png\"", "No such file"),
            ("logo_file = \"../other.png\"", "without .."),
            ("logo_file = \"link.png\"", "expected a file in the folder"),
            (
                "logo_file = \"endless.png\"",
                "expected a file in the folder",
            ),
            ("logo_file = \"/etc/hostname\"", "without .."),
            ("logo_file = 1", "expected a path"),
            (
                "logo = \"\"\nlogo_file = \"wiki.png\"",
                "expected either logo or logo_file",
            ),
        ] {
            let error = with(members).expect_err(members).to_string();
            assert!(
                error.contains("a.toml: logo_file") && error.contains(why),
                "{error}"
            );
        }
    }

    #[test]
    fn the_error_names_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let one = write(folder.path(), "one.toml", "owner = \"team\"\n");
        let other = write(folder.path(), "other.toml", "owner = \"others\"\n");
        let broken = write(folder.path(), "broken.toml", "owner = \n");
        let error = read(&[one, other]).expect_err("two owners").to_string();
        assert!(
            error.contains("other.toml: owner differs from that of") && error.contains("one.toml"),
            "{error}"
        );
        let error = read(&[broken]).expect_err("no TOML").to_string();
        assert!(
            error.contains("broken.toml") && error.contains("line 1"),
            "{error}"
        );
        let missing = folder.path().join("missing.toml");
        assert!(read(&[missing]).is_err());
    }
}
