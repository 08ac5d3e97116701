//! `assent completions` and `assent man`

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Command};
use clap_complete::Shell;

use assent_admin_client::terminal;

#[derive(Args, Debug)]
pub(super) struct Man {
    /// A folder for a page for each command; it is created if it does not exist. Without it, the page of `assent`
    /// itself is printed.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

pub(super) fn completions(shell: Shell, mut command: Command) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "assent", &mut script);
    terminal::print_bytes(&script)
}

/// Prints the manual page, or writes all of them.
pub(super) fn run(arguments: &Man, command: Command) -> anyhow::Result<()> {
    match &arguments.out {
        Some(folder) => std::fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(command, folder))
            .with_context(|| folder.display().to_string()),
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            terminal::print_bytes(&page)
        }
    }
}
