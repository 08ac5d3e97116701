//! The arguments of an operation: their definition for clap, and the parsing of their values.

pub mod parsed;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Args, Command, value_parser};
use parsed::RESERVED;
use reqwest::Method;

use super::connection::ConnectionArguments;
use super::document::{Body, BodyMember, Operation, Shape};
use super::show::OutputFormat;
use assent_admin_client::lookup::ResourceKind;

use parsed::{Paging, flag};

pub(super) fn command(name: &str, operation: &Operation) -> Command {
    let title = operation.title();
    let mut command = Command::new(name.to_owned()).after_help(format!(
        "{title} of the admin API; needs the permission {}.",
        operation.permission
    ));
    let descriptions = &operation.path_descriptions;
    for (place, (name, description)) in operation.path_parameters().zip(descriptions).enumerate() {
        command = command.arg(positional(place, &name, description));
    }
    for member in operation
        .query
        .iter()
        .filter(|member| !(operation.is_paged() && is_paging(&member.name)))
    {
        let flag = flag(member, &operation.query);
        command = command.arg(
            argument(format!("query.{}", member.name), member, &flag).required(member.is_required),
        );
    }
    command = match &operation.body {
        Some(Body::Json(members)) => {
            with_members(command, members, operation.method == Method::PATCH)
        }
        Some(Body::Raw(kind)) => {
            let help = format!("The file to send ({kind}); - is standard input");
            command.arg(file_argument(help).required(true))
        }
        None => command,
    };
    if operation.is_paged() {
        command = Paging::augment_args(command);
    }
    if operation.is_irreversible {
        let help = "Do not ask for confirmation";
        command = command.arg(
            Arg::new("yes")
                .long("yes")
                .short('y')
                .action(ArgAction::SetTrue)
                .help(help),
        );
    }
    if operation.answer.is_json() {
        command = OutputFormat::augment_args(command);
    } else {
        let kind = operation.answer.media_type.as_deref().unwrap_or_default();
        let help = format!("The file for the output ({kind}); by default standard output");
        command = command.arg(
            Arg::new("out")
                .long("out")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help(help),
        );
    }
    // Groups of flags have descriptions of their own.
    let summary = line(&operation.summary);
    let whole = format!("{summary}\n\n{}", paragraphs(&operation.description));
    ConnectionArguments::augment_args(command)
        .about(summary)
        .long_about(whole.trim_end().to_owned())
}

fn positional(place: usize, name: &str, description: &str) -> Arg {
    let help = match ResourceKind::from_parameter(name) {
        Some(ResourceKind::User) => "The user: an id, a name or an email address".to_owned(),
        Some(ResourceKind::Application) => "The application: its id, or a unique name".to_owned(),
        Some(ResourceKind::Group) => "The group: its id or its name".to_owned(),
        Some(ResourceKind::Account) => "The account: its id, or its user's id or name".to_owned(),
        None => line(description).trim_end_matches('.').to_owned(),
    };
    let argument = Arg::new(format!("path.{place}"))
        .value_name(name.to_uppercase())
        .help(help)
        .required(true);
    // A thumbprint may begin with a hyphen.
    argument.allow_hyphen_values(name == "kid")
}

/// Adds the flags of the members of a body. Those of a change can be removed.
fn with_members(mut command: Command, members: &[BodyMember], is_change: bool) -> Command {
    let has_texts = members
        .iter()
        .any(|member| matches!(member.shape, Shape::Text));
    let elsewhere: &[&'static str] = if has_texts {
        &["file", "from"]
    } else {
        &["file"]
    };
    for member in members {
        let argument = argument(
            format!("body.{}", member.name),
            member,
            &flag(member, members),
        );
        command = command.arg(match member.is_required {
            true => argument.required_unless_present_any(elsewhere.iter().copied()),
            false => argument,
        });
    }
    let clearable: Vec<String> = members
        .iter()
        .filter(|member| is_change && member.is_nullable)
        .map(|member| flag(member, members))
        .collect();
    if !clearable.is_empty() {
        let help = "Remove a value";
        let argument = Arg::new("unset")
            .long("unset")
            .value_name("MEMBER")
            .action(ArgAction::Append)
            .help(help);
        command = command.arg(argument.value_parser(PossibleValuesParser::new(clearable)));
    }
    if has_texts {
        let help = "Read a value from a file: metadata=sp.xml. The file - is standard input";
        let argument = Arg::new("from")
            .long("from")
            .value_name("MEMBER=FILE")
            .action(ArgAction::Append)
            .help(help);
        command = command.arg(argument);
    }
    let help =
        "A file with the body in JSON, to which the other flags are added; - is standard input";
    command.arg(file_argument(help.to_owned()))
}

fn file_argument(help: String) -> Arg {
    Arg::new("file")
        .long("file")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help(help)
}

/// Creates the flag of a member or parameter.
fn argument(id: String, member: &BodyMember, flag: &str) -> Arg {
    let mut argument = Arg::new(id).long(flag.to_owned());
    let name = member.name.replace('_', "-");
    if name != flag && !RESERVED.contains(&name.as_str()) {
        argument = argument.alias(name);
    }
    let of_what = || flag.rsplit('-').next().unwrap_or(flag).to_uppercase();
    let (argument, more) = match &member.shape {
        Shape::Choice(texts) => (
            argument
                .value_name(of_what())
                // An order such as `-created`.
                .allow_hyphen_values(texts.iter().any(|text| text.starts_with('-')))
                .value_parser(PossibleValuesParser::new(texts.clone())),
            "",
        ),
        Shape::Truth => {
            let argument = argument
                .value_name("true|false")
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true");
            (
                argument
                    .value_parser(PossibleValuesParser::new(["true", "false"]))
                    .hide_possible_values(true),
                "",
            )
        }
        Shape::Number => (argument.value_name("N"), ""),
        Shape::Text | Shape::Any => (argument.value_name(of_what()), ""),
        Shape::Object(_) => {
            let argument = argument
                .value_name("MEMBER=VALUE")
                .action(ArgAction::Append);
            (argument, "as JSON, or a member at a time")
        }
        Shape::List(inner) => {
            let argument = argument.action(ArgAction::Append);
            let more = "one flag for each; an empty value for none";
            match &**inner {
                Shape::Choice(texts) => {
                    let texts = texts.iter().map(String::as_str).chain([""]);
                    let shown: Vec<_> = texts
                        .map(|text| {
                            clap::builder::PossibleValue::new(text.to_owned()).hide(text.is_empty())
                        })
                        .collect();
                    (
                        argument
                            .value_name(of_what())
                            .value_parser(PossibleValuesParser::new(shown)),
                        more,
                    )
                }
                Shape::Object(_) => (argument.value_name("JSON"), more),
                _ => (argument.value_name(of_what()), more),
            }
        }
    };
    let named = match ResourceKind::from_parameter(&member.name) {
        Some(ResourceKind::User) => "an id, a name or an email address",
        Some(ResourceKind::Application) => "an id, or a unique name",
        Some(ResourceKind::Group) => "an id or a name",
        Some(ResourceKind::Account) => {
            "an id; or its user's name or email address, with the application"
        }
        None => more,
    };
    let described = line(&member.description);
    let whole = [described.trim_end_matches('.'), named]
        .into_iter()
        .filter(|part| !part.is_empty());
    argument.help(whole.collect::<Vec<_>>().join("; "))
}

fn is_paging(name: &str) -> bool {
    matches!(name, "after" | "limit")
}

/// Returns a sentence of the document in one line, without the marks of code.
fn line(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('`', "")
}

fn paragraphs(text: &str) -> String {
    text.split("\n\n")
        .map(line)
        .collect::<Vec<_>>()
        .join("\n\n")
}
