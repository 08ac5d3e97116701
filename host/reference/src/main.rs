//! Writes the reference pages: `cargo run --package assent-reference` in the folder of the repository.

use std::path::Path;

use anyhow::Context;

fn main() -> anyhow::Result<()> {
    let folder = Path::new("docs/reference");
    for page in assent_reference::pages(Path::new("."))? {
        let file = folder.join(page.file);
        std::fs::write(&file, page.text).with_context(|| file.display().to_string())?;
    }
    Ok(())
}
