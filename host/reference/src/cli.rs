//! The command line, from clap.

use clap_markdown::{MarkdownOptions, help_markdown_command_custom};

use crate::markdown::heading;

const INTRODUCTION: &str = "\
[The command line](../operators/command-line.md) explains how `assent` finds the server and its permissions, the
output formats and the exit codes. `assent COMMAND --help` prints the same text for one command, and `assent man` the
manual page.

";

pub(crate) fn page() -> anyhow::Result<String> {
    let options = MarkdownOptions::new()
        .title(String::new())
        .show_footer(false)
        .show_table_of_contents(false)
        .show_aliases(true);
    let text = help_markdown_command_custom(&assent::cli::command_line()?, &options);
    // Before the first command stands a sentence about the page.
    let commands = text.find("## `assent`").and_then(|start| text.get(start..));
    let commands = commands.unwrap_or(&text);
    Ok(heading("Command line", "the commands") + INTRODUCTION + commands.trim_end() + "\n")
}
