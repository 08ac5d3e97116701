//! The commands of the pages, run as written in a copy of the repository beside a running instance. Only the ports
//! differ: the pages use the ports of `make run`, and tests run at the same time.
//!
//! A block `sh` runs here. `sh,start` starts or builds the product. `scripts/packages pages` runs the blocks
//! `sh,installed` in a system with the package. `sh,cluster` needs Docker or Kubernetes. `sh,elsewhere` needs a machine
//! with another program, such as Prometheus.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::{Child, Command};

use super::{pages, root};
use crate::harness::{
    Pipes, Run, binary, component, free_port, in_time, read_file, temp_folder, write_file,
};

/// The words for the places where a block of commands may run.
const PLACES: [&str; 4] = ["start", "installed", "cluster", "elsewhere"];

/// A copy of the repository in its state after `make run`, with its running servers.
pub struct Clone {
    folder: tempfile::TempDir,
    port: u16,
    demo_port: u16,
    application_port: u16,
    wiki_port: u16,
    running: Vec<Child>,
}

impl Clone {
    /// Creates the copy and starts its servers. The programs and plugins come from this build. The other files are
    /// links to the repository.
    pub async fn serve() -> Self {
        let folder = temp_folder();
        let path = folder.path();
        let [port, demo_port, application_port, wiki_port] = [(); 4].map(|()| free_port());
        for name in [
            "demo",
            "docs",
            "host",
            "packaging",
            "plugin-sdk",
            "plugins",
            "tests",
            "wit",
            "Cargo.toml",
            "Cargo.lock",
        ] {
            symlink(root().join(name), path.join(name)).expect("a link");
        }
        for name in ["target", "config", "data"] {
            std::fs::create_dir(path.join(name)).expect("a folder");
        }
        let programs = path.join("target/debug");
        std::fs::create_dir(&programs).expect("a folder");
        for name in ["assent", "assent-demo"] {
            symlink(binary(name), programs.join(name)).expect("a link");
        }
        // By default, the program uses the server of `make run`.
        let tool = format!(
            "#!/bin/sh\nASSENT_SERVER=http://localhost:{port} exec {} \"$@\"\n",
            binary("assent-plugin").display()
        );
        write_file(programs.join("assent-plugin"), tool);
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(programs.join("assent-plugin"), executable).expect("executable");
        let plugin = component("account-roles");
        std::fs::create_dir(path.join("target/plugins")).expect("a folder");
        for entry in std::fs::read_dir(plugin.parent().expect("a folder")).expect("plugins") {
            let entry = entry.expect("a plugin");
            symlink(
                entry.path(),
                path.join("target/plugins").join(entry.file_name()),
            )
            .expect("a link");
        }
        let clone = Self {
            folder,
            port,
            demo_port,
            application_port,
            wiki_port,
            running: Vec::new(),
        };
        for entry in std::fs::read_dir(root().join("config")).expect("the settings") {
            let entry = entry.expect("a file");
            let text = clone.with_ports(&read_file(entry.path()));
            write_file(clone.path().join("config").join(entry.file_name()), text);
        }
        clone.started().await
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns a text with the ports of this instance.
    pub fn with_ports(&self, text: &str) -> String {
        text.replace(":8080", &format!(":{}", self.port))
            .replace(":8081", &format!(":{}", self.demo_port))
            .replace(":3000", &format!(":{}", self.application_port))
            .replace(":8082", &format!(":{}", self.wiki_port))
            .replace("_8082_", &format!("_{}_", self.wiki_port))
            .replace(
                "listen(3000,",
                &format!("listen({},", self.application_port),
            )
    }

    async fn started(mut self) -> Self {
        let mut assent = Command::new(binary("assent"));
        assent.args(["serve", "--config", "config/assent.toml"]);
        let mut assent = self.start(assent);
        let mut lines = assent.output_lines();
        loop {
            let line = in_time(lines.next_line()).await.expect("readable");
            if line.expect("it serves").contains("The console:") {
                break;
            }
        }
        let mut demo = Command::new(binary("assent-demo"));
        demo.args(["--client", "data/demo-client.json"]);
        let demo = self.start(demo);
        self.running.extend([assent, demo]);
        self
    }

    fn start(&self, mut command: Command) -> Child {
        command
            .current_dir(self.path())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        command.start()
    }

    /// Runs a script in one shell.
    pub async fn run(&self, script: &str) -> Result<(), String> {
        let printed = self.path().join("printed");
        let file = std::fs::File::create(&printed).expect("a file");
        let mut bash = Command::new("bash");
        bash.args(["-c", &self.with_ports(script)])
            .current_dir(self.path())
            .stdout(file.try_clone().expect("the file"))
            .stderr(file)
            .process_group(0)
            // The projects of the pages have the same dependencies. With a shared folder, each dependency is compiled
            // once.
            .env("CARGO_TARGET_DIR", plugin_target())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let mut bash = bash.start();
        let group = bash.id().expect("it runs");
        let status = in_time(bash.wait()).await.expect("it ends");
        // A failed page may leave programs running, so the whole process group is killed.
        let group = rustix::process::Pid::from_raw(group.cast_signed()).expect("a process");
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        match status.success() {
            true => Ok(()),
            false => Err(read_file(printed)),
        }
    }
}

/// Returns the folder for the builds of plugin projects, which the other tests of `assent-plugin` use too.
fn plugin_target() -> PathBuf {
    crate::plugins::authoring::shared_target()
}

/// Commands that enrol the device of the first administrator, which the pages require.
const ENROL: &str = "set -euo pipefail\n\
    target/debug/assent authenticator enrol \"$(target/debug/assent admin enrolment admin 2>/dev/null)\" \
    --store data/phone.json\n";

#[test]
fn each_block_of_commands_names_its_place() {
    let mut unknown = Vec::new();
    for page in pages() {
        for block in page.blocks.iter().filter(|block| block.language() == "sh") {
            let is_known = match block.info.as_slice() {
                [_] => true,
                [_, place] => PLACES.contains(&place.as_str()),
                _ => false,
            };
            if !is_known {
                unknown.push(page.place(block));
            }
        }
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
}

/// Runs the pages of one part of the book, each beside an instance of its own.
async fn run_pages(part: &str) {
    let mut failed = Vec::new();
    let mut count = 0;
    for page in pages() {
        let is_here = page.path.starts_with(part) || page.path == Path::new(part);
        let Some(script) = page.script().filter(|_| is_here) else {
            continue;
        };
        count += 1;
        let clone = Clone::serve().await;
        clone.run(ENROL).await.expect("a device");
        if let Err(printed) = clone.run(&script).await {
            failed.push(format!("{}:\n{printed}", page.path.display()));
        }
    }
    assert!(count > 0, "no page in {part} has commands");
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[tokio::test]
async fn the_commands_for_operators_succeed() {
    run_pages("docs/operators").await;
}

#[tokio::test]
async fn the_commands_for_administrators_succeed() {
    run_pages("docs/administrators").await;
}

#[tokio::test]
async fn the_commands_for_developers_succeed() {
    run_pages("docs/developers").await;
}

#[tokio::test]
async fn the_commands_of_the_readme_succeed() {
    run_pages("README.md").await;
}

#[tokio::test]
async fn the_commands_of_the_tutorials_succeed() {
    run_pages("docs/tutorials").await;
}
