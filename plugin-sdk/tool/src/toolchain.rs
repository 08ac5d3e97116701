//! The source of the compiler for WebAssembly.
//!
//! The target `wasm32-unknown-unknown` needs a standard library of its own. The tool tries these sources in this order:
//! the active toolchain has it; rustup can add it; on Debian, a compiler from the distribution builds it from source.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

/// The target of plugins. It has no system interface that the server would have to close.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// A plugin begins with this much memory for its values, in bytes, so that most calls need no more. Each growth costs
/// the host two system calls.
const HEAP: &str = "-Clink-arg=--initial-heap=524288";

/// Debian's compiler, package manager and library source for WebAssembly-capable builds.
const DEBIAN_PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];

/// The user's choice of a toolchain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Choice {
    /// The fastest option that works.
    Auto,
    /// The active toolchain. The target is added if it is missing.
    Active,
    /// Debian's packages.
    Debian,
}

/// A toolchain for WebAssembly.
#[derive(Debug, PartialEq, Eq)]
pub enum Toolchain {
    /// The active toolchain.
    Active,
    /// Debian's toolchain, which builds the standard library. The linker comes from another source.
    Debian {
        /// A linker for WebAssembly.
        linker: PathBuf,
    },
}

impl Toolchain {
    /// Finds a toolchain, and installs one if none is usable.
    ///
    /// # Errors
    /// If no toolchain is usable and none can be installed.
    pub fn find(choice: Choice) -> Result<Self> {
        if choice != Choice::Debian && (active_has_target() || rustup_adds_target()) {
            return Ok(Self::Active);
        }
        if choice == Choice::Active {
            bail!(
                "the active toolchain cannot build for {TARGET}; run `rustup target add {TARGET}`"
            );
        }
        let linker = linker().with_context(|| {
            "no linker for WebAssembly was found; install Rust with rustup (it brings `rust-lld`), or the package `lld`"
        })?;
        if !debian_is_installed() {
            install_debian_packages()?;
        }
        Ok(Self::Debian { linker })
    }

    /// Returns the cargo command for a build of one crate into `target`, with the options of this toolchain.
    pub fn cargo_rustc(&self, target: &Path) -> Command {
        match self {
            Self::Active => {
                let mut cargo = Command::new("cargo");
                cargo
                    .args(["rustc", "--target", TARGET, "--target-dir"])
                    .arg(target);
                cargo
            }
            Self::Debian { linker } => {
                let mut cargo = Command::new("/usr/bin/cargo");
                cargo
                    .args([
                        "rustc",
                        "-Zbuild-std=std,panic_abort",
                        "--target",
                        TARGET,
                        "--target-dir",
                    ])
                    .arg(target)
                    // `-Z` is for unstable flags. Debian's stable compiler accepts them only with this variable.
                    .env("RUSTC_BOOTSTRAP", "1")
                    .env("RUSTC", "/usr/bin/rustc")
                    .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker)
                    .env_remove("RUSTUP_TOOLCHAIN")
                    .env_remove("CARGO");
                cargo
            }
        }
    }

    /// Returns the flags for the compiler of the plugin itself, which the author's own flags join.
    pub const fn flags(&self) -> &'static [&'static str] {
        match self {
            Self::Active => &[HEAP],
            // The linker may be too old for the option.
            Self::Debian { .. } => &[],
        }
    }

    /// Returns the folder of this toolchain's builds inside cargo's target folder. Two compilers in one folder would
    /// rebuild everything after each change between them.
    pub fn target_folder(&self, target: &Path) -> PathBuf {
        match self {
            Self::Active => target.to_owned(),
            Self::Debian { .. } => target.join("debian"),
        }
    }
}

/// Returns whether the active toolchain has the target's standard library.
fn active_has_target() -> bool {
    let library = sysroot().map(|root| root.join("lib/rustlib").join(TARGET).join("lib"));
    let files = library.and_then(|folder| std::fs::read_dir(folder).ok());
    files.is_some_and(|files| {
        files
            .flatten()
            .any(|file| file.file_name().to_string_lossy().starts_with("libstd-"))
    })
}

/// Adds the target with rustup. Returns `false` if there is no rustup or its server is not reachable.
fn rustup_adds_target() -> bool {
    let added = Command::new("rustup")
        .args(["target", "add", TARGET])
        .stdout(Stdio::null())
        .status();
    added.is_ok_and(|status| status.success()) && active_has_target()
}

/// Returns the folder of the active toolchain.
fn sysroot() -> Option<PathBuf> {
    let output = Command::new("rustc")
        .args(["--print", "sysroot"])
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| PathBuf::from(text.trim()))
}

/// Returns the linker of a rustup toolchain, or that of the distribution.
fn linker() -> Option<PathBuf> {
    let bundled = sysroot().and_then(|root| {
        let targets = std::fs::read_dir(root.join("lib/rustlib")).ok()?;
        targets
            .flatten()
            .map(|target| target.path().join("bin/rust-lld"))
            .find(|linker| linker.is_file())
    });
    bundled.or_else(|| Some(PathBuf::from("/usr/bin/wasm-ld")).filter(|linker| linker.is_file()))
}

/// Returns whether Debian's compiler and the source of its library are installed.
fn debian_is_installed() -> bool {
    let installed = |package: &str| {
        let status = Command::new("dpkg-query")
            .args(["-W", "-f", "${db:Status-Status}", package])
            .output();
        status.is_ok_and(|output| output.stdout == b"installed")
    };
    DEBIAN_PACKAGES.into_iter().all(installed)
}

/// Installs Debian's packages, as root or with a `sudo` that needs no password.
fn install_debian_packages() -> Result<()> {
    let packages = DEBIAN_PACKAGES.join(" ");
    let help = format!(
        "to build plugins, either run `rustup target add {TARGET}`, or on Debian `sudo apt-get install {packages}`"
    );
    let elevate: &[&str] = if is_root() { &[] } else { &["sudo", "-n"] };
    for step in [
        ["update", "-q"].as_slice(),
        ["install", "-y", "-q", "--no-install-recommends"].as_slice(),
    ] {
        let mut words = elevate
            .iter()
            .copied()
            .chain(["apt-get"])
            .chain(step.iter().copied());
        let program = words.next().context("a command has a program")?;
        let mut command = Command::new(program);
        command.args(words).env("DEBIAN_FRONTEND", "noninteractive");
        if step.first() == Some(&"install") {
            command.args(DEBIAN_PACKAGES);
        }
        // The output goes to standard error, like that of cargo, because standard output is for the list of components.
        let done = command.stdout(std::io::stderr()).status();
        if !done.is_ok_and(|status| status.success()) {
            bail!("{help}");
        }
    }
    Ok(())
}

/// Returns whether this process may install packages itself.
fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
