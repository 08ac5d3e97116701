//! The reference pages of the book. Each is generated from the code, so it cannot differ from it: the settings from
//! their schema, the commands from clap, the APIs from their OpenAPI documents, and events, errors and log messages
//! from the sources. The pages are checked in, and a test compares them.

#![allow(
    clippy::indexing_slicing,
    reason = "a JSON value without a member has `null` there"
)]

mod claims;
mod cli;
mod contracts;
mod errors;
mod events;
mod log_messages;
mod markdown;
mod metrics;
mod openapi;
mod page_texts;
mod settings;
mod sources;

use std::path::Path;

/// A page of the book.
#[derive(Debug)]
pub struct Page {
    /// The file in `docs/reference`.
    pub file: &'static str,
    /// The page in Markdown.
    pub text: String,
}

/// All generated pages. `root` is the folder of the repository.
///
/// # Errors
/// If a source cannot be read, or has another form than expected.
pub fn pages(root: &Path) -> anyhow::Result<Vec<Page>> {
    let page = |file, text| Page { file, text };
    Ok(vec![
        page("settings.md", settings::page()?),
        page("cli.md", cli::page()?),
        page("admin-api.md", openapi::page(root, &openapi::ADMIN)?),
        page(
            "authenticator-api.md",
            openapi::page(root, &openapi::AUTHENTICATOR)?,
        ),
        page("claims.md", claims::page()?),
        page("errors.md", errors::page(root)?),
        page("audit-events.md", events::page(root)?),
        page("log-messages.md", log_messages::page(root)?),
        page("metrics.md", metrics::page(root)?),
        page("plugin-contracts.md", contracts::page(root)?),
        page("page-texts.md", page_texts::page(root)?),
    ])
}
