//! The async runtime for the server's code.

use anyhow::{Context, Result};

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
