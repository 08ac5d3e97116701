//! Names in place of ids: what is exactly so called is found by the API's own search.

use serde_json::Value;

use super::arguments::{Given, Payload};
use super::connection::Api;
use super::document::Operation;
use super::names::{self, Kind};
use crate::cli::failure::{self, Failure};

/// Puts ids in place of names.
///
/// # Errors
/// [`Failure`] where nothing is called so, or more than one.
pub(super) async fn resolve(api: &Api, operation: &Operation, given: &mut Given) -> anyhow::Result<()> {
    let mut application = None;
    for (text, name) in given.path.iter_mut().zip(operation.path_parameters()) {
        let Some(kind) = Kind::of(&names::parameter(&operation.path, name)) else { continue };
        id_of(api, kind, text, application.as_deref()).await?;
        if kind == Kind::Application {
            application = Some(text.clone());
        }
    }
    for (name, text) in &mut given.query {
        if let Some(kind) = Kind::of(name) {
            id_of(api, kind, text, application.as_deref()).await?;
        }
    }
    if let Some(Payload::Json(members)) = &mut given.body {
        for (name, value) in members {
            if let (Some(kind), Value::String(text)) = (Kind::of(name), value) {
                id_of(api, kind, text, application.as_deref()).await?;
            }
        }
    }
    Ok(())
}

/// The ids of an application and of a user's account there, by names or ids.
///
/// # Errors
/// [`Failure`] where nothing is called so, or more than one.
pub(super) async fn account_of(api: &Api, application: &str, user: &str) -> anyhow::Result<(String, String)> {
    let (mut application, mut account) = (application.to_owned(), user.to_owned());
    id_of(api, Kind::Application, &mut application, None).await?;
    id_of(api, Kind::Account, &mut account, Some(&application)).await?;
    Ok((application, account))
}

async fn id_of(api: &Api, kind: Kind, text: &mut String, application: Option<&str>) -> anyhow::Result<()> {
    if kind.is_id(text) {
        return Ok(());
    }
    *text = match (kind, application) {
        (Kind::User | Kind::Application, _) => only(api, kind, text).await?,
        (Kind::Account, Some(application)) => {
            let user = match Kind::User.is_id(text) {
                true => text.clone(),
                false => only(api, Kind::User, text).await?,
            };
            let accounts = items(api, &["users", &user, "accounts"], &[], usize::MAX).await?;
            let theirs = accounts.iter().find(|one| member(one, "application_id") == application);
            let Some(account) = theirs else {
                let message = format!("{text} has no account in this application");
                return Err(Failure::error(failure::Kind::NotFound, message));
            };
            member(account, "id").to_owned()
        }
        // The host says what is wrong with it.
        (Kind::Account, None) => text.clone(),
    };
    Ok(())
}

/// The id of the one thing that is called so.
async fn only(api: &Api, kind: Kind, text: &str) -> anyhow::Result<String> {
    // A search tells them in the order of their names, so whatever is called just so comes first.
    let list = if kind == Kind::Application { "applications" } else { "users" };
    let found = items(api, &[list], &[("q", text)], 1).await?;
    let found: Vec<&Value> = found.iter().filter(|one| is_called(kind, one, text)).collect();
    match found.as_slice() {
        [] => Err(Failure::error(failure::Kind::NotFound, format!("there is no {} {text}", kind.as_str()))),
        [one] => Ok(member(one, "id").to_owned()),
        several => {
            let lines: String =
                several.iter().map(|one| format!("\n  {}  {}", member(one, "id"), member(one, "name"))).collect();
            let kind = kind.as_str();
            Err(Failure::usage(format!("more than one {kind} is called {text}; name one by its id:{lines}")))
        }
    }
}

/// Whether something is called so. Names of users are the same in capitals, those of applications are not.
fn is_called(kind: Kind, one: &Value, text: &str) -> bool {
    let is = |name: &&str| member(one, name) == text;
    match kind {
        Kind::Application => is(&"name"),
        _ => {
            let lower = text.to_lowercase();
            ["name", "email"].iter().any(|name| member(one, name).to_lowercase() == lower)
                || ["did", "sub"].iter().any(is)
        }
    }
}

/// The items of a list's first pages.
async fn items(api: &Api, parts: &[&str], query: &[(&str, &str)], pages: usize) -> anyhow::Result<Vec<Value>> {
    let parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
    let mut query: Vec<(String, String)> =
        query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    query.push(("limit".to_owned(), "200".to_owned()));
    let mut items = Vec::new();
    for _ in 0..pages {
        let (mut page, _) = api.read(&parts, &query).await?;
        if let Some(Value::Array(more)) = page.get_mut("items").map(Value::take) {
            items.extend(more);
        }
        let Some(next) = page.get("next").and_then(Value::as_str) else { break };
        query.retain(|(name, _)| name != "after");
        query.push(("after".to_owned(), next.to_owned()));
    }
    Ok(items)
}

fn member<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}
