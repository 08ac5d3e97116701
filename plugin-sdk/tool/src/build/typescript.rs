//! TypeScript: the compiler checks the types, esbuild bundles all sources into one module, and componentize-qjs puts
//! the module into a component together with a JavaScript engine.
//!
//! All three are npm packages in the project's own lock file. The engine's snapshot from componentize-qjs contains a
//! random seed, so each one is different. Therefore a component with unchanged sources is not built again.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::files::write_if_changed;
use crate::plugin::Plugin;
use crate::process::run;

/// The module with the exports of the component.
const ENTRY: &str = "src/plugin.ts";

/// The contract in the layout of componentize-qjs: the file of a package, with its dependencies in folders of their
/// own.
const CONTRACT: [(&str, &str); 2] = [
    (
        "claims.wit",
        include_str!("../../../../wit/claims@1.0.0/claims.wit"),
    ),
    (
        "deps/host/host.wit",
        include_str!("../../../../wit/host@1.0.0/host.wit"),
    ),
];

/// The script at the beginning of the component. The engine traps at a request for the time, and the trap has no hint
/// for the author. So these calls throw an error instead, also in npm packages.
const NO_CLOCK: &str = "{const none=()=>{throw new Error('a plugin has no clock; use input.now')};\
    globalThis.Date=new Proxy(Date,{apply:none,\
    construct:(date,values,target)=>values.length?Reflect.construct(date,values,target):none(),\
    get:(date,name)=>name==='now'?none:Reflect.get(date,name)});}";

/// Builds a plugin.
///
/// # Errors
/// If Node.js or npm is missing, the types do not fit, or the build fails.
pub fn build(plugin: &Plugin) -> Result<()> {
    let project = Project {
        folder: &plugin.folder,
        build: plugin.folder.join("build"),
    };
    project.install()?;
    project.check_types()?;
    let bundle = project.bundle()?;
    // The inputs of the component, except the packages, which the lock file names.
    let made_of = [
        bundle.as_slice(),
        &project.lock()?,
        CONTRACT[0].1.as_bytes(),
        CONTRACT[1].1.as_bytes(),
    ]
    .concat();
    let (component, note) = (plugin.component(), project.build.join("made-of"));
    if component.is_file() && std::fs::read(&note).is_ok_and(|noted| noted == made_of) {
        return Ok(());
    }
    write_if_changed(&component, &project.componentize()?)?;
    write_if_changed(&note, &made_of)
}

/// The replacements, in a plugin, of names from other JavaScript programs.
const ADVICE: [(&[&str], &str); 4] = [
    (
        &["console"],
        "a plugin has no console; write to the operator's log: import log from \"assent:host/log@1.0.0\"",
    ),
    (
        &["fetch", "XMLHttpRequest", "WebSocket"],
        "a plugin has no network; use roles, claims or the plugin's settings",
    ),
    (
        &["setTimeout", "setInterval", "queueMicrotask"],
        "a plugin has no timers; a call ends with its return value",
    ),
    (
        &[
            "process",
            "require",
            "Buffer",
            "__dirname",
            "window",
            "document",
            "crypto",
            "performance",
        ],
        "a plugin runs in a sandbox, not in Node.js or a browser; only the language itself is available",
    ),
];

/// Returns a line of the compiler's output, with advice for plugins.
fn with_advice(line: &str) -> String {
    const UNKNOWN: &str = "Cannot find name '";
    let unknown = line
        .split_once(UNKNOWN)
        .and_then(|(place, rest)| Some((place, rest.split_once('\'')?.0)));
    let advice = unknown.and_then(|(place, name)| {
        let (_, advice) = ADVICE.iter().find(|(names, _)| names.contains(&name))?;
        Some(format!("{place}{UNKNOWN}{name}': {advice}"))
    });
    advice.unwrap_or_else(|| line.to_owned())
}

/// The messages of the compiler go to the same stream as those of cargo.
fn print_message(text: &str) {
    let _ = write!(std::io::stderr(), "{text}");
}

struct Project<'a> {
    folder: &'a Path,
    build: PathBuf,
}

impl Project<'_> {
    fn lock(&self) -> Result<Vec<u8>> {
        let file = self.folder.join("package-lock.json");
        std::fs::read(&file).with_context(|| {
            format!(
                "{} cannot be read; `npm install` writes it, and it belongs under version control",
                file.display()
            )
        })
    }

    /// Installs the packages of the lock file, unless they are installed.
    fn install(&self) -> Result<()> {
        let (lock, installed) = (self.lock()?, self.folder.join("node_modules/.installed"));
        if std::fs::read(&installed).is_ok_and(|present| present == lock) {
            return Ok(());
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
            .current_dir(self.folder);
        run(
            &mut npm,
            "npm could not install the packages of package-lock.json; see above",
        )?;
        write_if_changed(&installed, &lock)
    }

    /// Checks the types with the compiler. The compiler assumes a browser or Node.js, so its advice about unknown names
    /// is replaced.
    fn check_types(&self) -> Result<()> {
        let mut tsc = self.package("tsc", "typescript")?;
        let output = tsc
            .args(["--pretty", "false"])
            .output()
            .context("tsc cannot be run; is Node.js installed?")?;
        let messages = [output.stdout, output.stderr].concat();
        print_message(
            &String::from_utf8_lossy(&messages)
                .lines()
                .map(|line| with_advice(line) + "\n")
                .collect::<String>(),
        );
        if !output.status.success() {
            bail!("the TypeScript compiler found errors; see above");
        }
        Ok(())
    }

    fn package(&self, command: &str, package: &str) -> Result<Command> {
        let program = self.installed_file(&format!(".bin/{command}"), package)?;
        let mut command = Command::new(program);
        command.current_dir(self.folder);
        Ok(command)
    }

    /// Returns a file of an installed package, below `node_modules`.
    fn installed_file(&self, file: &str, package: &str) -> Result<PathBuf> {
        // The folder may be a relative path. A command with another working directory would not find it.
        let folder = self
            .folder
            .canonicalize()
            .with_context(|| format!("{} cannot be read", self.folder.display()))?;
        let file = folder.join("node_modules").join(file);
        if !file.is_file() {
            bail!(
                "package.json does not have the package `{package}`; add it with `npm install --save-dev {package}`"
            );
        }
        Ok(file)
    }

    /// Bundles everything except the host's interfaces into one module.
    fn bundle(&self) -> Result<Vec<u8>> {
        let mut esbuild = self.package("esbuild", "esbuild")?;
        esbuild.args([
            ENTRY,
            "--bundle",
            "--format=esm",
            "--target=es2023",
            "--external:assent:*",
        ]);
        esbuild.arg(format!("--banner:js={NO_CLOCK}"));
        esbuild.args(["--outfile=build/plugin.js", "--log-level=warning"]);
        run(&mut esbuild, "esbuild failed; see above")?;
        let file = self.build.join("plugin.js");
        std::fs::read(&file).with_context(|| format!("{} cannot be read", file.display()))
    }

    /// Builds the component. It imports the interfaces of its world and nothing else. Stubs replace the engine's calls
    /// of the operating system.
    fn componentize(&self) -> Result<Vec<u8>> {
        for (name, text) in CONTRACT {
            write_if_changed(&self.build.join("wit").join(name), text.as_bytes())?;
        }
        // Node.js 18 does not recognise the package's command as an ES module.
        let program = self.installed_file("componentize-qjs/cli.mjs", "componentize-qjs")?;
        let mut componentize = Command::new("node");
        componentize.arg(program).current_dir(self.folder);
        componentize.args([
            "--wit",
            "build/wit",
            "--world",
            "claim-mapper",
            "--js",
            "build/plugin.js",
        ]);
        componentize.args(["--stub-wasi", "--sync", "--output", "build/component.wasm"]);
        run(&mut componentize, "componentize-qjs failed; see above")?;
        let file = self.build.join("component.wasm");
        let component =
            std::fs::read(&file).with_context(|| format!("{} cannot be read", file.display()))?;
        std::fs::remove_file(&file)
            .with_context(|| format!("{} cannot be removed", file.display()))?;
        Ok(component)
    }
}

#[cfg(test)]
mod tests {
    use super::with_advice;

    #[test]
    fn misleading_advice_of_the_compiler_is_replaced() {
        let line = "src/plugin.ts(4,3): error TS2584: Cannot find name 'console'. Do you need to change your target \
             library? Try \
                    changing the 'lib' compiler option to include 'dom'.";
        assert_eq!(
            with_advice(line),
            "src/plugin.ts(4,3): error TS2584: Cannot find name 'console': a plugin has no console; write to the \
             operator's \
             log: import log from \"assent:host/log@1.0.0\""
        );
        let line = "src/plugin.ts(5,1): error TS2580: Cannot find name 'process'. Do you need to install type \
             definitions for \
                    node? Try `npm i --save-dev @types/node`.";
        assert!(
            with_advice(line).ends_with("only the language itself is available")
                && !with_advice(line).contains("npm i")
        );
        let own = "src/plugin.ts(6,1): error TS2304: Cannot find name 'departmnt'.";
        assert_eq!(with_advice(own), own);
    }
}
