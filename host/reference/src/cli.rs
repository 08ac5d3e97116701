//! The command line, from clap.

use std::collections::BTreeMap;

use clap_markdown::{MarkdownOptions, help_markdown_command_custom};

use crate::markdown::heading;

const INTRODUCTION: &str = "\
[The command line](../operators/command-line.md) explains how `assent` finds the server and its permissions, the
output formats and the exit codes. `assent COMMAND --help` prints the same text for one command, and `assent man` the
manual page.

## Common options

Most commands have some of these options. The sections below list only the others.

";

/// The number of commands from which an option is common.
const COMMON: usize = 50;

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
    let common = common_options(commands);
    let list: String = common.iter().map(|line| format!("{line}\n")).collect();
    let commands = without(commands, &common);
    Ok(heading("Command line", "the commands")
        + INTRODUCTION
        + &list
        + "\n"
        + commands.trim_end()
        + "\n")
}

/// Returns the lines of the options that many commands have, in the order of their names.
fn common_options(text: &str) -> Vec<&str> {
    let mut counts = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("* `-")) {
        *counts.entry(line).or_insert(0) += 1;
    }
    let common = counts.into_iter().filter(|(_, count)| *count >= COMMON);
    common.map(|(line, _)| line).collect()
}

/// Returns the text without these options, and without the headings of lists that are then empty. The other headings of
/// lists are bold text, because the sidebar of the book shows real ones.
fn without(text: &str, options: &[&str]) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines().filter(|line| !options.contains(line)) {
        let line = line.strip_prefix("###### ").unwrap_or(line);
        if !(line.is_empty() && lines.last().is_none_or(|last| last.is_empty())) {
            lines.push(line);
        }
    }
    let text = lines.join("\n").replace("**Options:**\n\n## ", "## ");
    let text = text.trim_end();
    let text = text.strip_suffix("**Options:**").unwrap_or(text);
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_lists_of_options_are_left_out() {
        let options = "###### **Options:**\n\n* `--x`\n";
        let text = format!("## `a`\n\n{options}\n\n\n## `b`\n\n{options}* `--y`\n");
        assert_eq!(
            without(&text, &["* `--x`"]),
            "## `a`\n\n## `b`\n\n**Options:**\n\n* `--y`"
        );
    }
}
