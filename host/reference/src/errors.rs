//! The errors that programs receive.

use std::path::Path;

use anyhow::Context;
use quote::ToTokens;
use syn::{Expr, ImplItem, Item, Pat};

use crate::markdown::{code, heading, prose, table};
use crate::sources::{doc_text, entries, literal, snake_case};

const OAUTH: &str = "host/server/src/oidc/error.rs";
const REGISTRATION: &str = "host/server/src/oidc/registration/error.rs";
const PROBLEMS: &str = "host/server/src/http/problem.rs";
const AUTHENTICATOR: &str = "host/server/src/http/devices/error_code.rs";

pub(crate) fn page(root: &Path) -> anyhow::Result<String> {
    let problems = entries(&root.join(PROBLEMS), "error_kinds")?
        .into_iter()
        .map(|kind| {
            let status = kind.rest.first().map(|status| status_of(status));
            let title = kind.rest.get(1).cloned().unwrap_or_default();
            [
                code(&kind.text),
                status.unwrap_or_default(),
                title,
                prose(&kind.about),
            ]
        });
    let codes = entries(&root.join(AUTHENTICATOR), "error_kinds")?
        .into_iter()
        .map(|one| {
            let status = one.rest.first().map(|status| status_of(status));
            [
                code(&one.text),
                status.unwrap_or_default(),
                prose(&one.about),
            ]
        });
    let token = oauth_errors(&root.join(OAUTH), "TokenError")?;
    let authorization = oauth_errors(&root.join(OAUTH), "AuthorizeErrorCode")?;
    let registration = oauth_errors(&root.join(REGISTRATION), "RegistrationError")?;
    let sources = format!("{OAUTH}, {REGISTRATION}, {PROBLEMS} and {AUTHENTICATOR}");
    Ok([
        heading("Errors", &sources).as_str(),
        "Each response has a request id in `x-request-id`. The log has the same id, and so has the page that a \
         browser shows. Numbers in a meaning mark alternatives: one of them applies.\n\n",
        "## Token, introspection, revocation and pushed request endpoint\n\nThe body is JSON with `error` and \
         `error_description` (RFC 6749 section 5.2). The endpoint for pushed authorization requests also returns the \
         errors of the authorization endpoint, with status 400 (RFC 9126 section 2.3).\n\n",
        &table(["`error`", "Meaning"], token),
        "## Authorization endpoint\n\nThe browser returns to the application with `error` and `error_description` \
         (RFC 6749 section 4.1.2.1, OpenID Connect Core section 3.1.2.6). If the redirect URI is not one of the \
         application, the browser stays at Assent and shows a page.\n\n",
        &table(["`error`", "Meaning"], authorization),
        "## Client registration\n\nThe body is JSON with `error` and `error_description` (RFC 7591 section 3.2.2). \
         [Let applications register themselves](../developers/registration.md#errors) has the status of each.\n\n",
        &table(["`error`", "Meaning"], registration),
        "## Admin API\n\nThe body has the media type `application/problem+json` (RFC 9457). `type` is one of these, \
         `detail` says what is wrong, and `errors` names the values that are not valid.\n\n",
        &table(["`type`", "Status", "`title`", "Meaning"], problems),
        "## Authenticator API\n\nThe body is JSON with `error` and `message`.\n\n",
        table(["`error`", "Status", "Meaning"], codes).trim_end(),
        "\n",
    ]
    .concat())
}

/// The number of a constant such as `BAD_REQUEST`.
fn status_of(constant: &str) -> String {
    let number = match constant {
        "BAD_REQUEST" => 400,
        "UNAUTHORIZED" => 401,
        "FORBIDDEN" => 403,
        "NOT_FOUND" => 404,
        "METHOD_NOT_ALLOWED" => 405,
        "CONFLICT" => 409,
        "GONE" => 410,
        "PRECONDITION_FAILED" => 412,
        "PAYLOAD_TOO_LARGE" => 413,
        "UNSUPPORTED_MEDIA_TYPE" => 415,
        "UNPROCESSABLE_ENTITY" => 422,
        "TOO_MANY_REQUESTS" => 429,
        "INTERNAL_SERVER_ERROR" => 500,
        "SERVICE_UNAVAILABLE" => 503,
        other => return other.to_owned(),
    };
    number.to_string()
}

/// The variants of an error with the code of each: the text that strum derives, or what its method `code` or `as_str`
/// returns.
fn oauth_errors(file: &Path, name: &str) -> anyhow::Result<Vec<[String; 2]>> {
    let place = || file.display().to_string();
    let text = std::fs::read_to_string(file).with_context(place)?;
    let parsed = syn::parse_file(&text).with_context(place)?;
    let mut abouts = Vec::new();
    let mut codes = Vec::new();
    for item in &parsed.items {
        match item {
            Item::Enum(found) if found.ident == name => {
                let is_derived = found.attrs.iter().any(|one| one.path().is_ident("strum"));
                for variant in &found.variants {
                    let name = variant.ident.to_string();
                    abouts.push((name.clone(), doc_text(&variant.attrs)));
                    if is_derived {
                        codes.push((vec![name.clone()], snake_case(&name)));
                    }
                }
            }
            Item::Impl(found) if found.self_ty.to_token_stream().to_string() == name => {
                for item in &found.items {
                    if let ImplItem::Fn(function) = item
                        && (function.sig.ident == "code" || function.sig.ident == "as_str")
                    {
                        codes.extend(arms(&function.block));
                    }
                }
            }
            _ => {}
        }
    }
    anyhow::ensure!(!codes.is_empty(), "{}: no codes of {name}", place());
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for (variants, error) in codes {
        let cases = abouts
            .iter()
            .filter(|(variant, _)| variants.contains(variant))
            .map(|(_, about)| prose(about));
        match rows.iter_mut().find(|(code, _)| *code == error) {
            Some((_, known)) => known.extend(cases),
            None => rows.push((error, cases.collect())),
        }
    }
    let rows = rows.into_iter();
    Ok(rows
        .map(|(error, cases)| [code(&error), alternatives(&cases)])
        .collect())
}

/// The meanings of an error, of which one applies: each is one or more sentences.
fn alternatives(cases: &[String]) -> String {
    match cases {
        [one] => one.clone(),
        several => several
            .iter()
            .enumerate()
            .map(|(number, case)| format!("({}) {case}", number + 1))
            .collect::<Vec<_>>()
            .join(" "),
    }
}

/// The arms of the `match` of a function that return a literal: the names of the variants, and the literal. An arm
/// with a guard is another case of a variant, which the arm without it describes.
fn arms(block: &syn::Block) -> Vec<(Vec<String>, String)> {
    let Some(syn::Stmt::Expr(Expr::Match(found), _)) = block.stmts.last() else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for arm in &found.arms {
        if let Expr::Lit(text) = &*arm.body {
            let text = literal(&text.to_token_stream().to_string());
            let variants = match arm.guard {
                Some(_) => Vec::new(),
                None => variants_of(&arm.pat),
            };
            all.push((variants, text));
        }
    }
    all
}

fn variants_of(pattern: &Pat) -> Vec<String> {
    let last = |path: &syn::Path| path.segments.last().map(|part| part.ident.to_string());
    match pattern {
        Pat::Or(all) => all.cases.iter().flat_map(variants_of).collect(),
        Pat::Path(one) => last(&one.path).into_iter().collect(),
        Pat::TupleStruct(one) => last(&one.path).into_iter().collect(),
        Pat::Struct(one) => last(&one.path).into_iter().collect(),
        _ => Vec::new(),
    }
}
