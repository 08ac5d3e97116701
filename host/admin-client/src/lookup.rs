//! Resolves names to ids: the search of the admin API finds the object with exactly this name.

use serde_json::Value;

use assent_model::id::{AccountId, Did, GroupId, UserId};
use assent_model::name::{folded_form, is_same_name};

use crate::connection::Api;
use crate::error::{CommandError, ErrorKind};

/// The kinds of objects that a command accepts by name or id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum ResourceKind {
    /// A user, by name or email address.
    User,
    /// An application, by name.
    Application,
    /// A group, by name.
    Group,
    /// An account, by its user, if the application is known.
    Account,
}
assent_model::enum_texts!(ResourceKind);

impl ResourceKind {
    /// Returns the kind of object that a parameter or a member with this name refers to.
    pub fn from_parameter(name: &str) -> Option<Self> {
        match name {
            "user" | "user_id" => Some(Self::User),
            "application" | "application_id" => Some(Self::Application),
            "group" | "group_id" => Some(Self::Group),
            "account" | "account_id" => Some(Self::Account),
            _ => None,
        }
    }

    /// Returns the kind of object that the entries of a list with this name refer to.
    pub fn from_list(name: &str) -> Option<Self> {
        (name == "users").then_some(Self::User)
    }

    /// Whether a text is an id.
    pub fn is_id(self, text: &str) -> bool {
        match self {
            Self::User => text.parse::<UserId>().is_ok(),
            Self::Application => text.parse::<Did>().is_ok(),
            Self::Group => text.parse::<GroupId>().is_ok(),
            Self::Account => text.parse::<AccountId>().is_ok(),
        }
    }
}

/// Resolves an application and a user's account in it, by names or ids. Returns their ids.
///
/// # Errors
/// [`CommandError`] if no object has this name, or more than one.
pub async fn account_of(
    api: &Api,
    application: &str,
    user: &str,
) -> anyhow::Result<(String, String)> {
    let (mut application, mut account) = (application.to_owned(), user.to_owned());
    id_of(api, ResourceKind::Application, &mut application, None).await?;
    id_of(api, ResourceKind::Account, &mut account, Some(&application)).await?;
    Ok((application, account))
}

/// Replaces a name with the id of its object. An id is kept.
///
/// # Errors
/// [`CommandError`] if no object has this name, or more than one.
pub async fn id_of(
    api: &Api,
    kind: ResourceKind,
    text: &mut String,
    application: Option<&str>,
) -> anyhow::Result<()> {
    if kind.is_id(text) {
        return Ok(());
    }
    *text = match (kind, application) {
        (ResourceKind::User | ResourceKind::Application | ResourceKind::Group, _) => {
            only(api, kind, text).await?
        }
        (ResourceKind::Account, Some(application)) => {
            let user = match ResourceKind::User.is_id(text) {
                true => text.clone(),
                false => only(api, ResourceKind::User, text).await?,
            };
            let accounts = items(api, &["users", &user, "accounts"], &[], usize::MAX).await?;
            let theirs = accounts
                .iter()
                .find(|one| member(one, "application_id") == application);
            let Some(account) = theirs else {
                let message = format!("{text} has no account in this application");
                return Err(CommandError::with_kind(ErrorKind::NotFound, message));
            };
            member(account, "id").to_owned()
        }
        // The server reports the error.
        (ResourceKind::Account, None) => text.clone(),
    };
    Ok(())
}

/// Returns the id of the only object with this name.
async fn only(api: &Api, kind: ResourceKind, text: &str) -> anyhow::Result<String> {
    // A search returns objects in the order of their names, so exact matches are on the first page.
    let list = match kind {
        ResourceKind::Application => "applications",
        ResourceKind::Group => "groups",
        ResourceKind::User | ResourceKind::Account => "users",
    };
    let found = items(api, &[list], &[("q", text)], 1).await?;
    let found: Vec<&Value> = found
        .iter()
        .filter(|one| is_called(kind, one, text))
        .collect();
    match found.as_slice() {
        [] => Err(CommandError::with_kind(
            ErrorKind::NotFound,
            format!("there is no {} {text}", kind.as_str()),
        )),
        [one] => Ok(member(one, "id").to_owned()),
        several => {
            let lines: String = several
                .iter()
                .map(|one| format!("\n  {}  {}", member(one, "id"), member(one, "name")))
                .collect();
            let kind = kind.as_str();
            Err(CommandError::usage(format!(
                "more than one {kind} is called {text}; name one by its id:{lines}"
            )))
        }
    }
}

/// Whether an object has this name. Names of users and groups are compared as the server does, names of applications
/// are case-sensitive.
fn is_called(kind: ResourceKind, one: &Value, text: &str) -> bool {
    let is = |name: &&str| !text.is_empty() && member(one, name) == text;
    match kind {
        ResourceKind::Application => is(&"name"),
        ResourceKind::Group => folded_form(member(one, "name")) == folded_form(text),
        ResourceKind::User | ResourceKind::Account => {
            ["name", "email"]
                .iter()
                .any(|name| is_same_name(member(one, name), text))
                || ["did", "sub"].iter().any(is)
        }
    }
}

/// Returns the items of the first pages of a list.
async fn items(
    api: &Api,
    parts: &[&str],
    query: &[(&str, &str)],
    pages: usize,
) -> anyhow::Result<Vec<Value>> {
    let parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
    let mut query: Vec<(String, String)> = query
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    query.push(("limit".to_owned(), "200".to_owned()));
    let mut items = Vec::new();
    for _ in 0..pages {
        let (mut page, _) = api.read(&parts, &query).await?;
        if let Some(Value::Array(more)) = page.get_mut("items").map(Value::take) {
            items.extend(more);
        }
        let Some(next) = page.get("next").and_then(Value::as_str) else {
            break;
        };
        query.retain(|(name, _)| name != "after");
        query.push(("after".to_owned(), next.to_owned()));
    }
    Ok(items)
}

fn member<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_spelling_names_the_user_or_the_group() {
        let user = json!({"name": "josé", "email": "josé@xn--exmple-cua.test", "did": "did:key:x"});
        for text in ["JOSÉ", "jose\u{301}", "josé@exämple.test", "did:key:x"] {
            assert!(is_called(ResourceKind::User, &user, text), "{text}");
        }
        for text in ["jose", "", "josé@example.test"] {
            assert!(!is_called(ResourceKind::User, &user, text), "{text}");
        }
        let group = json!({"name": "Équipe"});
        assert!(is_called(ResourceKind::Group, &group, "E\u{301}QUIPE"));
        let application = json!({"name": "Wiki"});
        assert!(!is_called(ResourceKind::Application, &application, "wiki"));
    }
}
