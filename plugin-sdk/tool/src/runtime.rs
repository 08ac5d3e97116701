//! The runtime of the server's parts.

use anyhow::{Context, Result};

/// Runs what the host's runtime does.
pub fn wait<T>(future: impl Future<Output = T>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    Ok(runtime.context("the runtime can't start")?.block_on(future))
}
