//! The values of the arguments, and the parts of the request that they determine.

use std::io::Read;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, FromArgMatches, value_parser};
use serde_json::{Map, Value};

use crate::cli::api::document::{Body, BodyMember, Operation, Shape};
use assent_admin_client::error::CommandError;
use assent_admin_client::lookup::ResourceKind;
use assent_model::text::{bytes_without_mark, without_mark};

/// The flags of lists with pages.
#[derive(Args, Clone, Debug)]
pub(crate) struct Paging {
    /// The maximum number of items.
    #[arg(long, default_value_t = 50, value_parser = value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    /// Continue after this item, as the previous list printed it.
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<String>,
    /// All items.
    #[arg(long, conflicts_with = "limit")]
    pub(crate) all: bool,
}

/// The parsed arguments.
#[derive(Debug)]
pub(crate) struct ParsedArguments {
    /// The parameters of the path, in their order.
    pub(crate) path: Vec<String>,
    /// The parameters of the query.
    pub(crate) query: Vec<(String, String)>,
    /// The body of the request.
    pub(crate) body: Option<Payload>,
    /// The part of a list.
    pub(crate) paging: Option<Paging>,
    /// Whether confirmations are skipped.
    pub(crate) yes: bool,
    /// The destination of a response that is not JSON.
    pub(crate) out: Option<PathBuf>,
}

/// The body of a request.
#[derive(Debug)]
pub(crate) enum Payload {
    /// JSON.
    Json(Map<String, Value>),
    /// A body of this media type.
    Raw(String, Vec<u8>),
}

/// Parses the arguments.
///
/// # Errors
/// [`CommandError`] if a value is not valid for its member, or a file cannot be read.
pub(crate) fn read(operation: &Operation, matches: &ArgMatches) -> anyhow::Result<ParsedArguments> {
    let mut path = Vec::new();
    for (place, _) in operation.path_parameters().enumerate() {
        let text = matches
            .get_one::<String>(&format!("path.{place}"))
            .cloned()
            .unwrap_or_default();
        // URLs normalise such segments, so the path would name another object.
        if matches!(text.as_str(), "" | "." | "..") {
            return Err(CommandError::usage(format!(
                "\"{text}\" is not a name or an id"
            )));
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
    Ok(ParsedArguments {
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
        Some(file) => {
            serde_json::from_slice(bytes_without_mark(&bytes_of(file)?)).map_err(|error| {
                CommandError::usage(format!(
                    "--file {}: expected a JSON object: {error}",
                    file.display()
                ))
            })?
        }
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
            CommandError::usage(format!("--{}: {expected}", flag(member, members)))
        })?;
        body.insert(member.name.clone(), value);
    }
    let named = |called: &str| {
        let found = members
            .iter()
            .find(|member| member.name == called || flag(member, members) == called);
        found.ok_or_else(|| {
            CommandError::usage(format!("--from {called}: there is no such value here"))
        })
    };
    for assignment in matches
        .try_get_many::<String>("from")
        .ok()
        .flatten()
        .into_iter()
        .flatten()
    {
        let (called, file) = assignment.split_once('=').ok_or_else(|| {
            CommandError::usage(format!("--from {assignment}: expected MEMBER=FILE"))
        })?;
        let name = named(called)?.name.clone();
        let text = match String::from_utf8(bytes_of(Path::new(file))?) {
            Ok(text) => without_mark(&text).to_owned(),
            // Metadata in UTF-16 or Latin-1 is sent unchanged.
            Err(bytes) if name == "metadata" => STANDARD.encode(bytes.as_bytes()),
            Err(_) => {
                return Err(CommandError::usage(format!(
                    "--from {assignment}: the file is not text"
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
        return Err(CommandError::usage(
            "no change specified; --help lists the flags",
        ));
    }
    if body.is_empty() && !operation.is_body_required {
        return Ok(None);
    }
    Ok(Some(Payload::Json(body)))
}

/// Returns the content of a file, or of standard input for `-`.
fn bytes_of(file: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = match file.as_os_str() == "-" {
        true => std::io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .map(|_| bytes),
        false => std::fs::read(file),
    };
    read.map_err(|error| CommandError::usage(format!("{}: {error}", file.display())))
}

/// Returns the value of a flag from its texts, one for each use of the flag.
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

/// Parses a part of an object: JSON, or `member=value`.
fn part_of_object(members: &[BodyMember], text: &str) -> Result<Map<String, Value>, String> {
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

/// Returns the name of a member's flag: the member's name, or for a list its singular if that is not another member.
pub(crate) fn flag(member: &BodyMember, all: &[BodyMember]) -> String {
    let mut name = member.name.as_str();
    if name == "q" {
        name = "search";
    }
    if ResourceKind::from_parameter(name).is_some() {
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

/// The flags of every command. A member with the same name gets another flag.
pub(super) const RESERVED: [&str; 16] = [
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
