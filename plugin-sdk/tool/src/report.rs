//! Errors on the terminal.

use assent_admin_client::terminal;
use assent_model::printable::lines;

pub fn report(error: &anyhow::Error) {
    // The error may quote the component's own texts.
    terminal::note(format_args!("assent-plugin: {}", lines(&chain(error))));
}

/// Returns an error and its causes, each once. Some errors already contain the text of their cause.
fn chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !text.contains(&cause) {
            text = if text.is_empty() {
                cause
            } else {
                format!("{text}: {cause}")
            };
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_cause_is_reported_once() {
        let error = anyhow::anyhow!("no such file")
            .context("a.json: no such file")
            .context("the fixtures cannot be read");
        assert_eq!(
            chain(&error),
            "the fixtures cannot be read: a.json: no such file"
        );
    }
}
