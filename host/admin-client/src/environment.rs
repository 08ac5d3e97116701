//! Environment variables in place of arguments.

use clap::Command;

/// Returns a command for which an empty environment variable counts as unset. Service managers and container files
/// write an unset value as an empty one.
pub fn without_empty_variables(command: Command) -> Command {
    let command = command.mut_args(|argument| {
        let is_empty = argument
            .get_env()
            .and_then(std::env::var_os)
            .is_some_and(|value| value.is_empty());
        match is_empty {
            true => argument.env(None),
            false => argument,
        }
    });
    let names: Vec<String> = command
        .get_subcommands()
        .map(|subcommand| subcommand.get_name().to_owned())
        .collect();
    names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, without_empty_variables)
    })
}
