//! The commands that a build runs, and the asynchronous code of the server.

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

/// Runs a future of the server's code to its end.
///
/// # Errors
/// If the runtime cannot start.
pub fn wait<T>(future: impl Future<Output = T>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    Ok(runtime
        .context("the runtime cannot start")?
        .block_on(future))
}
