//! The commands that a build runs.

use std::process::Command;

use anyhow::{Context, Result, bail};

/// Runs a command that must succeed. Its output goes to standard error, like that of cargo, because standard output is
/// for the result.
///
/// # Errors
/// If the command cannot start, or ends without success. `failed` is the message then.
pub fn run(command: &mut Command, failed: &str) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.stdout(std::io::stderr()).status();
    let status = status.with_context(|| format!("{program} cannot be run; is it installed?"))?;
    if !status.success() {
        bail!("{failed}");
    }
    Ok(())
}
