//! The link of the first owner on a terminal: it is the last text, also of `scripts/run`. Without a terminal the server
//! prints no link, which the other tests of the first start check.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::{assent, err, settings};
use crate::harness::{
    Pipes, Run, binary, free_port, in_time, read_file, temp_folder, utf8, write_file,
};

/// The key that ends the programs of a terminal: Ctrl-C.
const INTERRUPT: &[u8] = b"\x03";
/// What a terminal itself shows for this key.
const ECHO: &str = "^C";

/// A terminal with a running command.
struct Terminal {
    process: Child,
    keyboard: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Terminal {
    /// Starts a command of the shell on a terminal of its own.
    fn run(folder: &Path, command: &str) -> Self {
        // It ends with the terminal, also if the test fails. A shell ignores Ctrl-C in all that it starts in the
        // background, and bash traps no signal that is ignored when it begins.
        let command = format!("exec env --default-signal setpriv --pdeathsig KILL {command}");
        let mut script = Command::new("script");
        script
            .args(["--quiet", "--return", "--command", &command, "/dev/null"])
            .current_dir(folder)
            .env("SHELL", "/bin/sh")
            .env_remove("LAN")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        let mut process = script.start();
        Self {
            keyboard: process.input(),
            lines: process.output_lines(),
            process,
        }
    }

    /// Returns the lines until the first with this text.
    async fn until(&mut self, text: &str) -> String {
        let mut printed = String::new();
        while !printed.contains(text) {
            let line = in_time(self.lines.next_line()).await.expect("readable");
            let Some(line) = line else {
                panic!("the command ended without {text}: {printed}");
            };
            // If the text never comes, the failure shows the lines before.
            println!("{line}");
            printed.push_str(&line);
            printed.push('\n');
        }
        printed
    }

    /// Presses Ctrl-C. Returns the remaining lines and the exit code of the command.
    async fn interrupt(mut self) -> (String, ExitStatus) {
        self.keyboard.write_all(INTERRUPT).await.expect("a key");
        let mut rest = String::new();
        while let Some(line) = in_time(self.lines.next_line()).await.expect("readable") {
            rest.push_str(&line);
            rest.push('\n');
        }
        let status = in_time(self.process.wait()).await.expect("it ends");
        (rest.trim().trim_start_matches(ECHO).to_owned(), status)
    }
}

/// Checks that the text has these parts in this order, and returns its last line, which is the link.
fn link_after<'a>(printed: &'a str, parts: &[&str]) -> &'a str {
    let mut rest = printed;
    for part in parts {
        let found = rest.split_once(part);
        (_, rest) = found.unwrap_or_else(|| panic!("{part} is missing or too early: {printed}"));
    }
    let link = rest.lines().last().expect("a line").trim();
    assert!(link.starts_with("http://localhost:"), "{printed}");
    assert!(link.contains("/authenticator#enrol=en_"), "{printed}");
    link
}

#[tokio::test]
async fn a_terminal_shows_the_first_link_last() {
    let folder = temp_folder();
    let folder = folder.path();
    settings(folder);
    let program = binary("assent");
    let serve = format!(
        "{} serve --config assent.toml 2>assent.log",
        program.display()
    );
    let mut terminal = Terminal::run(folder, &serve);
    let printed = terminal.until("#enrol=").await;
    let parts = [
        "Try the sign-in:",
        "The console:",
        "Enrol a device for \"admin\" (valid once):",
        "█",
    ];
    let link = link_after(&printed, &parts);
    assert!(!printed.contains("New enrolment link:"), "{printed}");
    let enrol = ["authenticator", "enrol", link, "--store", "phone.json"];
    let enrolled = assent(folder, &enrol).await;
    assert!(enrolled.status.success(), "{}", err(&enrolled));
    let (rest, status) = terminal.interrupt().await;
    assert_eq!(rest, "", "after the link");
    assert!(status.success(), "{status}");

    // A later start has created no link, so it prints the command for one.
    let mut terminal = Terminal::run(folder, &serve);
    let printed = terminal.until("The console:").await;
    assert!(printed.contains("New enrolment link:"), "{printed}");
    let (rest, _) = terminal.interrupt().await;
    assert!(!format!("{printed}{rest}").contains("#enrol="), "{rest}");
}

/// Writes a program of the shell. Another process writes it: a file that this process has open may also be open in a
/// process that another test starts at this moment, and Linux executes no file that is open for writing.
async fn write_program(path: &Path, text: &str) {
    let source = path.with_extension("source");
    write_file(&source, text);
    let mut install = Command::new("install");
    install.args(["--mode=755"]).args([&source, path]);
    let status = install.status().await.expect("started");
    assert!(status.success(), "{}", path.display());
}

/// The script with the programs of this build, and with its settings without plugins. It installs and builds nothing.
#[tokio::test]
async fn the_first_link_is_the_last_text_of_make_run() {
    let folder = temp_folder();
    let folder = folder.path();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in ["scripts", "config", "bin", "target/debug"] {
        std::fs::create_dir_all(folder.join(name)).expect("a folder");
    }
    let [port, demo_port] = [(); 2].map(|()| free_port().to_string());
    let with_ports = |text: &str| {
        // The number of one port may contain the other one.
        text.replace("8080", "%PORT%")
            .replace("8081", &demo_port)
            .replace("%PORT%", &port)
    };
    for name in ["scripts/run", "scripts/lib.sh"] {
        write_program(&folder.join(name), &with_ports(&read_file(root.join(name)))).await;
    }
    let settings = read_file(root.join("config/assent.toml"));
    let (settings, _) = settings.split_once("[plugins]").expect("plugins");
    write_file(folder.join("config/assent.toml"), with_ports(settings));
    for name in ["scripts/setup", "bin/cargo", "target/debug/assent-plugin"] {
        write_program(&folder.join(name), "#!/bin/sh\n").await;
    }
    for name in ["assent", "assent-demo"] {
        let program = binary(name);
        let text = format!(
            "#!/bin/sh\nexec setpriv --pdeathsig KILL {} \"$@\"\n",
            program.display()
        );
        write_program(&folder.join("target/debug").join(name), &text).await;
    }
    let mut terminal = Terminal::run(folder, "env PATH=\"$PWD/bin:$PATH\" scripts/run");
    let printed = terminal.until("#enrol=").await;
    let parts = [
        "Building Assent",
        "Starting. The logs are data/assent.log and data/demo.log",
        "Try the sign-in:",
        "The console:",
        "█",
    ];
    let link = link_after(&printed, &parts);
    assert!(
        link.starts_with(&format!("http://localhost:{port}/")),
        "{link}"
    );
    // The demo starts after the link was printed, and its log is in a file.
    let log = folder.join("data/demo.log");
    let demo = async {
        while !std::fs::read(&log).is_ok_and(|log| utf8(log).contains("serving")) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    in_time(demo).await;
    let (rest, status) = terminal.interrupt().await;
    assert_eq!(rest, "", "after the link");
    assert!(status.success(), "{status}");
}
