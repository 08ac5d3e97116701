//! The command line: the help of each command, and the output of some commands of the admin API.

use std::collections::BTreeMap;
use std::process::Stdio;

use tokio::process::Command;

use super::compare::assert_snapshots;
use super::world::World;
use crate::harness::{Run, binary, utf8};

/// Commands of the admin API. `{ada}` is the id of a user.
const COMMANDS: [&str; 26] = [
    "users list",
    "users list --json",
    "users list --state terminated",
    "users list --limit 1",
    "users show {ada}",
    "users show {ada} --json",
    "users show nobody",
    "users create --name lin --email lin@example.org",
    "users create --name lin",
    "users update {ada} --email ada.l@example.org",
    "users update {ada}",
    "users delete {ada}",
    "users access list {ada}",
    "users activity list {ada} --limit 3",
    "applications list --order name",
    "applications list --order name --json",
    "applications show {books}",
    "applications show {wiki} --json",
    "applications secrets list {books}",
    "groups list",
    "groups members list {readers}",
    "accounts list {books}",
    "manifests list",
    "redirect-uris validate --application-type web --uri http://a.example",
    "me show",
    "nothing",
];

#[test]
fn the_help_of_each_command_is_as_before() {
    let mut command = assent::cli::command_line().expect("the commands");
    command.build();
    let mut texts = BTreeMap::new();
    let mut own = String::new();
    own.push_str(&command.render_long_help().to_string());
    texts.insert("assent.txt".to_owned(), own);
    for inner in command.get_subcommands_mut() {
        let name = format!("assent_{}.txt", inner.get_name());
        // Clap writes the help for `help` itself.
        if inner.get_name() == "help" {
            continue;
        }
        let mut text = String::new();
        let mut commands = vec![inner.clone()];
        while let Some(mut command) = commands.pop() {
            let name = command.get_bin_name().unwrap_or_default().to_owned();
            text.push_str(&format!("# {name}\n{}\n", command.render_long_help()));
            let subcommands = command
                .get_subcommands()
                .filter(|inner| inner.get_name() != "help");
            let mut subcommands: Vec<_> = subcommands.cloned().collect();
            subcommands.reverse();
            commands.extend(subcommands);
        }
        texts.insert(name, text);
    }
    assert_snapshots("command_line/help", &texts);
}

async fn output(program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(binary(program));
    command.args(arguments).stdin(Stdio::null());
    let output = command.finish().await;
    utf8(output.stdout) + &utf8(output.stderr)
}

#[tokio::test]
async fn the_help_of_the_tool_for_plugins_is_as_before() {
    let mut text = String::new();
    let mut commands: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(command) = commands.pop() {
        let mut arguments: Vec<&str> = command.iter().map(String::as_str).collect();
        arguments.push("--help");
        let help = output("assent-plugin", &arguments).await;
        let listed = help
            .split_once("\nCommands:\n")
            .map_or("", |(_, rest)| rest);
        let names = listed.lines().take_while(|line| !line.is_empty());
        let names = names.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        let names = names.filter_map(|line| line.split_whitespace().next());
        for name in names.filter(|name| *name != "help") {
            commands.push([&command[..], &[name.to_owned()]].concat());
        }
        text.push_str(&format!(
            "# assent-plugin {}\n{help}\n",
            arguments.join(" ")
        ));
    }
    let texts = BTreeMap::from([("assent-plugin.txt".to_owned(), text)]);
    assert_snapshots("command_line/plugin_tool", &texts);
}

#[tokio::test]
async fn commands_of_the_admin_api_print_the_same_as_before() {
    let mut world = World::filled("").await;
    let mut text = String::new();
    for line in COMMANDS {
        world.host.advance(1);
        let filled = world.fill(line);
        let mut command = Command::new(binary("assent"));
        command
            .args(filled.split(' '))
            .current_dir(world.host.folder())
            .env("ASSENT_SERVER", &world.host.base)
            .env("ASSENT_ADMIN_TOKEN", &world.host.token)
            .stdin(Stdio::null());
        let output = command.finish().await;
        text.push_str(&format!(
            "# assent {line}: {}\n",
            output.status.code().expect("a code")
        ));
        text.push_str(&utf8(output.stdout));
        let errors = utf8(output.stderr);
        if !errors.is_empty() {
            text.push_str(&format!("errors:\n{errors}"));
        }
        text.push('\n');
    }
    let texts = BTreeMap::from([("admin_api.txt".to_owned(), world.normalised(&text))]);
    assert_snapshots("command_line/output", &texts);
}
