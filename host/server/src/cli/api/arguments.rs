//! An operation's arguments: as clap is told of them, and as what was given is read.

use std::io::Read;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::builder::PossibleValuesParser;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};
use serde_json::{Map, Value};

use super::connection::Connection;
use super::document::{Body, Member, Operation, Shape};
use super::show::Form;
use assent_admin_client::failure::Failure;
use assent_admin_client::lookup::Kind;

/// Flags of every command; a member of the same name has another one.
const RESERVED: [&str; 16] = [
    "after",
    "all",
    "ca",
    "config",
    "file",
    "from",
    "help",
    "json",
    "limit",
    "out",
    "quiet",
    "server",
    "token-file",
    "unset",
    "version",
    "yes",
];

/// Flags of lists that come by pages.
#[derive(Args, Clone, Debug)]
pub(super) struct Paging {
    /// How many at most.
    #[arg(long, default_value_t = 50, value_parser = value_parser!(u32).range(1..))]
    pub(super) limit: u32,
    /// Go on after this one, as the list before said.
    #[arg(long, value_name = "CURSOR")]
    pub(super) after: Option<String>,
    /// All of them.
    #[arg(long, conflicts_with = "limit")]
    pub(super) all: bool,
}

/// What was given.
#[derive(Debug)]
pub(super) struct Given {
    /// The parameters of the path, in their order.
    pub(super) path: Vec<String>,
    /// Those of the query.
    pub(super) query: Vec<(String, String)>,
    /// What the request carries.
    pub(super) body: Option<Payload>,
    /// Which part of a list.
    pub(super) paging: Option<Paging>,
    /// Whether nobody is to be asked.
    pub(super) yes: bool,
    /// Where an answer that is no JSON goes.
    pub(super) out: Option<PathBuf>,
}

/// What a request carries.
#[derive(Debug)]
pub(super) enum Payload {
    /// JSON.
    Json(Map<String, Value>),
    /// Something else, of this media type.
    Raw(String, Vec<u8>),
}

/// The command of an operation.
pub(super) fn command(name: &str, operation: &Operation) -> Command {
    let title = operation.title();
    let mut command = Command::new(name.to_owned()).after_help(format!(
        "{title} of the admin API; needs the permission {}.",
        operation.permission
    ));
    for (place, name) in operation.path_parameters().enumerate() {
        command = command.arg(positional(place, &name));
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
        Some(Body::Json(members)) => with_members(command, members),
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
        let help = "Do it without asking";
        command = command.arg(
            Arg::new("yes")
                .long("yes")
                .short('y')
                .action(ArgAction::SetTrue)
                .help(help),
        );
    }
    if operation.answer.is_json() {
        command = Form::augment_args(command);
    } else {
        let kind = operation.answer.media_type.as_deref().unwrap_or_default();
        let help = format!("Where the answer ({kind}) goes; standard output without it");
        command = command.arg(
            Arg::new("out")
                .long("out")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help(help),
        );
    }
    // Groups of flags bring descriptions of their own along.
    let summary = line(&operation.summary);
    let whole = format!("{summary}\n\n{}", paragraphs(&operation.description));
    Connection::augment_args(command)
        .about(summary)
        .long_about(whole.trim_end().to_owned())
}

fn positional(place: usize, name: &str) -> Arg {
    let help = match Kind::of(name) {
        Some(Kind::User) => "The user: an id, a name or an e-mail address".to_owned(),
        Some(Kind::Application) => {
            "The application: its id, or its name where no other has it".to_owned()
        }
        _ => format!("The {}", name.replace(['_', '-'], " ")),
    };
    let argument = Arg::new(format!("path.{place}"))
        .value_name(name.to_uppercase())
        .help(help)
        .required(true);
    // A thumbprint may begin with a hyphen.
    argument.allow_hyphen_values(name == "kid")
}

fn with_members(mut command: Command, members: &[Member]) -> Command {
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
        .filter(|member| is_clearable(member))
        .map(|member| flag(member, members))
        .collect();
    if !clearable.is_empty() {
        let help = "Take a value away";
        let argument = Arg::new("unset")
            .long("unset")
            .value_name("MEMBER")
            .action(ArgAction::Append)
            .help(help);
        command = command.arg(argument.value_parser(PossibleValuesParser::new(clearable)));
    }
    if has_texts {
        let help = "Take a value from a file: metadata=sp.xml. The file - is standard input";
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

/// The flag of a member or parameter.
fn argument(id: String, member: &Member, flag: &str) -> Arg {
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
                .value_parser(PossibleValuesParser::new(texts.clone())),
            "",
        ),
        Shape::Truth => {
            let argument = argument
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
            let more = "each by a flag of its own; an empty value for none";
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
    let named = match Kind::of(&member.name) {
        Some(Kind::User) => "an id, a name or an e-mail address",
        Some(Kind::Application) => "an id, or a name that no other has",
        Some(Kind::Account) => {
            "an id; or its user's name or e-mail address, where the application is named"
        }
        None => more,
    };
    let described = line(&member.description);
    let whole = [described.trim_end_matches('.'), named]
        .into_iter()
        .filter(|part| !part.is_empty());
    argument.help(whole.collect::<Vec<_>>().join("; "))
}

/// What the flag of a member is called: by its name, of a list by the singular where that is no other member.
pub(super) fn flag(member: &Member, all: &[Member]) -> String {
    let mut name = member.name.as_str();
    if name == "q" {
        name = "search";
    }
    if Kind::of(name).is_some() {
        name = name.trim_end_matches("_id");
    }
    if let (Shape::List(_), Some(one)) = (&member.shape, name.strip_suffix('s'))
        && !one.ends_with(['s', 'c'])
        && !all.iter().any(|other| other.name == one)
    {
        name = one;
    }
    let flag = name.replace('_', "-");
    if RESERVED.contains(&flag.as_str()) {
        format!("set-{flag}")
    } else {
        flag
    }
}

fn is_paging(name: &str) -> bool {
    matches!(name, "after" | "limit")
}

/// Whether null takes the value away, as its description says.
fn is_clearable(member: &Member) -> bool {
    member.description.contains("; null ")
}

/// A sentence of the document in one line, without the marks of code.
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

/// Reads what was given.
///
/// # Errors
/// [`Failure`] for a value that its member can't have; a file that can't be read.
pub(super) fn read(operation: &Operation, matches: &ArgMatches) -> anyhow::Result<Given> {
    let mut path = Vec::new();
    for (place, _) in operation.path_parameters().enumerate() {
        let text = matches
            .get_one::<String>(&format!("path.{place}"))
            .cloned()
            .unwrap_or_default();
        // Addresses are made without such parts, and would name something else.
        if matches!(text.as_str(), "" | "." | "..") {
            return Err(Failure::usage(format!("\"{text}\" names nothing")));
        }
        path.push(text);
    }
    let mut query = Vec::new();
    for member in &operation.query {
        let id = format!("query.{}", member.name);
        if let Some(text) = matches.try_get_one::<String>(&id).ok().flatten() {
            query.push((member.name.clone(), text.clone()));
        }
    }
    Ok(Given {
        path,
        query,
        body: body(operation, matches)?,
        paging: operation
            .is_paged()
            .then(|| Paging::from_arg_matches(matches))
            .transpose()?,
        yes: matches
            .try_get_one::<bool>("yes")
            .ok()
            .flatten()
            .copied()
            .unwrap_or_default(),
        out: matches
            .try_get_one::<PathBuf>("out")
            .ok()
            .flatten()
            .cloned(),
    })
}

fn body(operation: &Operation, matches: &ArgMatches) -> anyhow::Result<Option<Payload>> {
    let file = || matches.try_get_one::<PathBuf>("file").ok().flatten();
    let members = match &operation.body {
        None => return Ok(None),
        Some(Body::Raw(kind)) => {
            let bytes = file()
                .map(|file| bytes_of(file))
                .transpose()?
                .unwrap_or_default();
            let kind = if kind.contains('*') {
                "application/octet-stream"
            } else {
                kind.as_str()
            };
            return Ok(Some(Payload::Raw(kind.to_owned(), bytes)));
        }
        Some(Body::Json(members)) => members,
    };
    let mut body = match file() {
        Some(file) => serde_json::from_slice(&bytes_of(file)?).map_err(|error| {
            Failure::usage(format!(
                "--file {}: expected a JSON object: {error}",
                file.display()
            ))
        })?,
        None => Map::new(),
    };
    for member in members {
        let id = format!("body.{}", member.name);
        if matches.value_source(&id) != Some(ValueSource::CommandLine) {
            continue;
        }
        let texts: Vec<&String> = matches
            .get_many::<String>(&id)
            .into_iter()
            .flatten()
            .collect();
        let value = value(&member.shape, &texts).map_err(|expected| {
            Failure::usage(format!("--{}: {expected}", flag(member, members)))
        })?;
        body.insert(member.name.clone(), value);
    }
    let named = |called: &str| {
        let found = members
            .iter()
            .find(|member| member.name == called || flag(member, members) == called);
        found.ok_or_else(|| Failure::usage(format!("--from {called}: there is no such value here")))
    };
    for given in matches
        .try_get_many::<String>("from")
        .ok()
        .flatten()
        .into_iter()
        .flatten()
    {
        let (called, file) = given
            .split_once('=')
            .ok_or_else(|| Failure::usage(format!("--from {given}: expected MEMBER=FILE")))?;
        let name = named(called)?.name.clone();
        let text = match String::from_utf8(bytes_of(Path::new(file))?) {
            Ok(text) => text,
            // Metadata in UTF-16 or Latin-1 goes as it is.
            Err(bytes) if name == "metadata" => STANDARD.encode(bytes.as_bytes()),
            Err(_) => {
                return Err(Failure::usage(format!(
                    "--from {given}: the file is no text"
                )));
            }
        };
        body.insert(name, Value::String(text));
    }
    for called in matches
        .try_get_many::<String>("unset")
        .ok()
        .flatten()
        .into_iter()
        .flatten()
    {
        body.insert(named(called)?.name.clone(), Value::Null);
    }
    if operation.method == reqwest::Method::PATCH && body.is_empty() {
        return Err(Failure::usage(
            "nothing is to be changed; --help says what can be",
        ));
    }
    Ok(Some(Payload::Json(body)))
}

/// What a file holds; of `-` what comes by standard input.
fn bytes_of(file: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = match file.as_os_str() == "-" {
        true => std::io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .map(|_| bytes),
        false => std::fs::read(file),
    };
    read.map_err(|error| Failure::usage(format!("{}: {error}", file.display())))
}

/// The value that texts stand for: one for each time that the flag was given.
fn value(shape: &Shape, texts: &[&String]) -> Result<Value, String> {
    let last = texts.last().map(|text| text.as_str()).unwrap_or_default();
    match shape {
        Shape::Text | Shape::Choice(_) => Ok(Value::String(last.to_owned())),
        Shape::Number => match serde_json::from_str(last) {
            Ok(Value::Number(number)) => Ok(Value::Number(number)),
            _ => Err(format!("expected a number and not {last}")),
        },
        Shape::Truth => match last {
            "true" | "false" => Ok(Value::Bool(last == "true")),
            _ => Err(format!("expected true or false and not {last}")),
        },
        Shape::Any => {
            Ok(serde_json::from_str(last).unwrap_or_else(|_| Value::String(last.to_owned())))
        }
        Shape::List(inner) => match texts {
            [none] if none.is_empty() => Ok(Value::Array(Vec::new())),
            texts => texts
                .iter()
                .map(|text| value(inner, &[*text]))
                .collect::<Result<_, _>>()
                .map(Value::Array),
        },
        Shape::Object(members) => {
            let mut object = Map::new();
            for text in texts {
                object.extend(part_of_object(members, text)?);
            }
            Ok(Value::Object(object))
        }
    }
}

/// A part of an object: JSON, or `member=value`.
fn part_of_object(members: &[Member], text: &str) -> Result<Map<String, Value>, String> {
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text)
            .map_err(|error| format!("expected a JSON object: {error}"));
    }
    let (name, text) = text
        .split_once('=')
        .ok_or("expected a JSON object, or MEMBER=VALUE")?;
    let member = members
        .iter()
        .find(|member| member.name.replace('_', "-") == name.replace('_', "-"));
    let shape = match member {
        Some(member) => &member.shape,
        None if members.is_empty() => &Shape::Any,
        None => {
            let known: Vec<_> = members.iter().map(|member| member.name.as_str()).collect();
            return Err(format!(
                "there is no {name}; expected one of {}",
                known.join(", ")
            ));
        }
    };
    let name = member.map_or(name, |member| &member.name).to_owned();
    Ok([(name, value(shape, &[&text.to_owned()])?)]
        .into_iter()
        .collect())
}
