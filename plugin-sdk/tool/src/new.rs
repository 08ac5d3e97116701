//! New projects. A new project builds and passes its tests without a change.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use crate::plugin::{Role, is_name};
use crate::sdk::{cargo_lock, npm_package, rust_crate};
use assent_admin_client::terminal;

/// The programming language of a plugin.
#[derive(Clone, Copy, Debug, ValueEnum, PartialEq, Eq)]
pub enum Language {
    /// Rust.
    Rust,
    /// TypeScript.
    #[value(name = "typescript")]
    TypeScript,
}

/// The properties of the new project.
#[derive(Debug)]
pub struct Wish {
    /// The folder to create. Its last part is the plugin's name.
    pub folder: PathBuf,
    /// The role.
    pub role: Role,
    /// The language.
    pub language: Language,
}

/// A file of a project: its path, and its text with placeholders.
type Template = (&'static str, &'static str);

macro_rules! template {
    ($path:literal, $source:literal) => {
        ($path, include_str!(concat!("../templates/", $source)))
    };
}

const RUST: [Template; 2] = [
    template!(".gitignore", "rust/gitignore"),
    template!("README.md", "rust/README.md"),
];
/// The CI workflow of a project outside a workspace. A member needs none, because its workspace tests it.
const RUST_WORKFLOW: Template = template!(".github/workflows/plugin.yml", "workflows/rust.yml");
/// The Cargo.toml of a member of a workspace with the SDK, and that of a separate project.
const MEMBER: Template = template!("Cargo.toml", "rust/Cargo.workspace.toml");
const SEPARATE: Template = template!("Cargo.toml", "rust/Cargo.separate.toml");

const CLAIM_MAPPER: [Template; 1] = [template!("src/lib.rs", "claim-mapper/src/lib.rs")];

/// The fixtures of the claim mapper. They are the same in both languages.
const CLAIM_MAPPER_FIXTURES: [Template; 4] = [
    template!(
        "fixtures/by-role.json",
        "claim-mapper/fixtures/by-role.json"
    ),
    template!(
        "fixtures/nowhere.json",
        "claim-mapper/fixtures/nowhere.json"
    ),
    template!(
        "fixtures/otherwise.json",
        "claim-mapper/fixtures/otherwise.json"
    ),
    template!(
        "fixtures/refused-settings.json",
        "claim-mapper/fixtures/refused-settings.json"
    ),
];

const APPROVAL_CHANNEL: [Template; 5] = [
    template!("src/lib.rs", "approval-channel/src/lib.rs"),
    template!(
        "fixtures/begins.json",
        "approval-channel/fixtures/begins.json"
    ),
    template!("fixtures/gone.json", "approval-channel/fixtures/gone.json"),
    template!("fixtures/late.json", "approval-channel/fixtures/late.json"),
    template!(
        "fixtures/no-answer.json",
        "approval-channel/fixtures/no-answer.json"
    ),
];

const DELEGATED_APPROVAL_CHANNEL: [Template; 7] = [
    template!("src/lib.rs", "delegated-approval-channel/src/lib.rs"),
    template!(
        "fixtures/another.json",
        "delegated-approval-channel/fixtures/another.json"
    ),
    template!(
        "fixtures/approved.json",
        "delegated-approval-channel/fixtures/approved.json"
    ),
    template!(
        "fixtures/begins.json",
        "delegated-approval-channel/fixtures/begins.json"
    ),
    template!(
        "fixtures/cancelled.json",
        "delegated-approval-channel/fixtures/cancelled.json"
    ),
    template!(
        "fixtures/refused-settings.json",
        "delegated-approval-channel/fixtures/refused-settings.json"
    ),
    template!("stub.py", "delegated-approval-channel/stub.py"),
];

const TYPESCRIPT: [Template; 12] = [
    template!(".github/workflows/plugin.yml", "workflows/typescript.yml"),
    template!(".gitignore", "typescript/gitignore"),
    template!(".npmrc", "typescript/npmrc"),
    template!("README.md", "typescript/README.md"),
    template!("package.json", "typescript/package.json"),
    template!("package-lock.json", "typescript/package-lock.json"),
    template!("tsconfig.json", "typescript/tsconfig.json"),
    template!("src/plugin.ts", "typescript/src/plugin.ts"),
    template!("test/ada.ts", "typescript/test/ada.ts"),
    template!("test/log.ts", "typescript/test/log.ts"),
    template!("test/tsconfig.json", "typescript/test/tsconfig.json"),
    template!("test/plugin.test.ts", "typescript/test/plugin.test.ts"),
];

/// Creates the project.
///
/// # Errors
/// If the name is not valid, the folder exists, or a file cannot be written.
pub fn new(wish: &Wish) -> Result<()> {
    let folder = &wish.folder;
    let name = folder
        .file_name()
        .and_then(|name| name.to_str())
        .filter(|name| is_name(name) && !name.starts_with('-'));
    let Some(name) = name else {
        bail!(
            "`{}` is not a valid plugin name: use lower-case letters, digits and `-`",
            folder.display()
        );
    };
    if folder.exists() {
        bail!(
            "{} exists already; use another name, or remove it",
            folder.display()
        );
    }
    let member = is_member(folder);
    let templates = match (wish.language, wish.role) {
        (Language::TypeScript, Role::ClaimMapper) => {
            [&TYPESCRIPT[..], &CLAIM_MAPPER_FIXTURES].concat()
        }
        (Language::TypeScript, role) => {
            bail!(
                "a plugin in TypeScript is a claim-mapper; for {role} leave `--language typescript` out"
            )
        }
        (Language::Rust, role) => rust(role, member),
    };
    let npm = npm_package()?;
    let fields = [
        ("{{name}}", name),
        ("{{role}}", &wish.role.to_string()),
        ("{{sdk}}", &npm.path),
        ("{{sdk-version}}", env!("CARGO_PKG_VERSION")),
        ("{{sdk-integrity}}", &npm.integrity),
    ];
    for (path, text) in templates {
        let text = fields.iter().fold(text.to_owned(), |text, (field, value)| {
            text.replace(field, value)
        });
        write(&folder.join(path), text.as_bytes())?;
    }
    match wish.language {
        Language::TypeScript => write(&folder.join(&npm.path), &npm.bytes)?,
        Language::Rust if member => {}
        Language::Rust => {
            for (path, text) in rust_crate()? {
                write(&folder.join(path), text.as_bytes())?;
            }
            write(&folder.join("Cargo.lock"), cargo_lock().as_bytes())?;
        }
    }
    print_next_steps(folder);
    Ok(())
}

/// Returns the files of a project in Rust, without the SDK.
fn rust(role: Role, member: bool) -> Vec<Template> {
    let manifest = if member {
        &[MEMBER][..]
    } else {
        &[SEPARATE, RUST_WORKFLOW]
    };
    let plugin = match role {
        Role::ClaimMapper => [&CLAIM_MAPPER[..], &CLAIM_MAPPER_FIXTURES].concat(),
        Role::ApprovalChannel => APPROVAL_CHANNEL.to_vec(),
        Role::DelegatedApprovalChannel => DELEGATED_APPROVAL_CHANNEL.to_vec(),
    };
    [&RUST[..], manifest, &plugin].concat()
}

/// Returns whether the folder will belong to the workspace of a checkout, as one of its `plugins/`.
fn is_member(folder: &Path) -> bool {
    let parent = folder
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let Ok(parent) = parent.canonicalize() else {
        return false;
    };
    parent.ends_with("plugins")
        && parent
            .with_file_name("plugin-sdk")
            .join("Cargo.toml")
            .is_file()
}

/// Returns a text as a TOML string, with its quotes.
pub fn toml_text(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn write(file: &Path, bytes: &[u8]) -> Result<()> {
    let written = || {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(file, bytes)
    };
    written().with_context(|| format!("{} cannot be written", file.display()))
}

fn print_next_steps(folder: &Path) {
    let folder = folder.display();
    terminal::report_line(format_args!(
        "Created {folder}. Next:\n\n  assent-plugin test {folder}\n\nthen read {folder}/README.md"
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(folder: PathBuf, role: Role, language: Language) -> Wish {
        Wish {
            folder,
            role,
            language,
        }
    }

    #[test]
    fn a_new_project_contains_no_placeholder() {
        let temporary = tempfile::tempdir().expect("a folder");
        for (number, (role, language)) in [
            (Role::ClaimMapper, Language::Rust),
            (Role::ApprovalChannel, Language::Rust),
            (Role::DelegatedApprovalChannel, Language::Rust),
            (Role::ClaimMapper, Language::TypeScript),
        ]
        .into_iter()
        .enumerate()
        {
            let folder = temporary.path().join(format!("plugin-{number}"));
            new(&wish(folder.clone(), role, language)).expect("a project");
            let mut folders = vec![folder];
            let mut files = 0;
            while let Some(folder) = folders.pop() {
                for entry in std::fs::read_dir(folder).expect("a folder") {
                    let path = entry.expect("an entry").path();
                    // The SDK has no placeholders, and its texts contain braces.
                    if path.ends_with("vendor") {
                        continue;
                    }
                    if path.is_dir() {
                        folders.push(path);
                    } else {
                        let text = std::fs::read_to_string(&path).expect("text");
                        assert!(
                            !text.replace("${{", "").contains("{{"),
                            "{}",
                            path.display()
                        );
                        files += 1;
                    }
                }
            }
            assert!(files > 8, "{role} {language:?}: {files} files");
        }
    }

    #[test]
    fn an_impossible_project_is_explained() {
        let temporary = tempfile::tempdir().expect("a folder");
        let error = |name: &str, role, language| {
            new(&wish(temporary.path().join(name), role, language))
                .expect_err("no project")
                .to_string()
        };
        let rust = Language::Rust;
        assert!(error("My Plugin", Role::ClaimMapper, rust).contains("use lower-case letters"));
        let channel = error("a", Role::ApprovalChannel, Language::TypeScript);
        assert_eq!(
            channel,
            "a plugin in TypeScript is a claim-mapper; for approval-channel leave `--language typescript` out"
        );
        std::fs::create_dir(temporary.path().join("there")).expect("a folder");
        assert!(error("there", Role::ClaimMapper, rust).contains("exists already"));
    }
}
