//! The summary of the changes of a manifest. Each change that may do harm has the sentences of the same change by hand.

use super::action::ManifestChanges;
use super::application_summary::{
    created_client, created_service_provider, updated_client, updated_service_provider,
};
use super::escape::{quoted_list, unquoted};
use super::group_summary::{application_identifier, assignment, unassignment, with_roles};
use super::joined::sentences;
use super::manifest_object::{ManagedApplication, ManifestObject, NamedApplication};
use crate::messages::Message;
use assent_model::language::Language;

/// The number of characters of a plan's digest that a summary shows.
const DIGEST_BEGINNING: usize = 32;

/// The number of characters up to which a summary names harmless changes.
const LONGEST_WITH_HARMLESS: usize = 1_500;

/// Returns the summary: all sensitive changes, and then as many of the others as fit.
pub(super) fn message(
    owner: &str,
    digest: &str,
    changes: ManifestChanges,
    objects: &[ManifestObject],
) -> Message {
    let (sensitive, harmless): (Vec<&ManifestObject>, Vec<&ManifestObject>) =
        objects.iter().partition(|object| object.is_sensitive());
    let mut shown: Vec<Message> = sensitive
        .into_iter()
        .map(|object| object_summary(owner, object))
        .collect();
    let length = |message: &Message| message.plain(Language::English).chars().count();
    let mut total: usize = shown.iter().map(length).sum();
    let mut others = harmless
        .into_iter()
        .map(|object| object_summary(owner, object))
        .peekable();
    while let Some(message) = others.next_if(|other| total + length(other) <= LONGEST_WITH_HARMLESS)
    {
        total += length(&message);
        shown.push(message);
    }
    let more = others.count();
    if more > 0 {
        let more = i64::try_from(more).unwrap_or(i64::MAX);
        shown.push(Message::new("action-manifest-more").number("count", more));
    }
    let digest: String = digest.chars().take(DIGEST_BEGINNING).collect();
    Message::new("action-apply-manifest")
        .text("owner", owner)
        .text("digest", digest)
        .number("created", number(changes.created))
        .number("updated", number(changes.updated))
        .number("deleted", number(changes.deleted))
        .message("objects", sentences(shown))
}

fn object_summary(owner: &str, object: &ManifestObject) -> Message {
    match object {
        ManifestObject::NewClient { client, .. } => created_client(client),
        ManifestObject::NewServiceProvider { provider, .. } => created_service_provider(provider),
        ManifestObject::Client {
            application,
            before,
            after,
        } => {
            let ManagedApplication {
                application: NamedApplication { name, id },
                members,
                ..
            } = application;
            let sets_admin_scopes = before.settings.admin_scopes != after.settings.admin_scopes;
            let change = updated_client(
                id,
                &unquoted(name),
                before,
                after,
                members,
                sets_admin_scopes,
            );
            existing_application(owner, application, change)
        }
        ManifestObject::ServiceProvider {
            application,
            before,
            after,
        } => {
            let name = unquoted(&application.application.name);
            let change = updated_service_provider(&name, before, after, &application.members);
            existing_application(owner, application, change)
        }
        ManifestObject::DeletedApplication(name, id) => sentences([
            Message::new("action-delete-application").text("application", unquoted(name)),
            Message::new("action-its-id").text("id", id.to_string()),
        ]),
        ManifestObject::Logo(key) => Message::new("action-change-logo").text("key", key),
        ManifestObject::Group {
            before,
            name,
            adopted_as,
            added,
            removed,
        } => group(
            owner,
            before.as_deref(),
            name,
            adopted_as.as_deref(),
            added,
            removed,
        ),
        ManifestObject::DeletedGroup(name) => {
            Message::new("action-delete-group").text("group", unquoted(name))
        }
        ManifestObject::Assignment {
            application,
            group,
            roles,
            replaced,
        } => {
            let group = group.as_deref().map(unquoted);
            let name = unquoted(&application.name);
            assignment(
                group.as_deref(),
                &name,
                application.id.as_ref(),
                roles,
                replaced.as_deref(),
            )
        }
        ManifestObject::RemovedAssignment { application, group } => {
            let group = group.as_deref().map(unquoted);
            let name = unquoted(&application.name);
            unassignment(group.as_deref(), &name, &application.id)
        }
        ManifestObject::Account {
            user,
            application,
            roles,
            replaced,
        } => with_roles(
            Message::new("action-give-account")
                .text("user", unquoted(user))
                .text("application", unquoted(&application.name)),
            roles,
            replaced.as_deref(),
            application.id.as_ref(),
        ),
        ManifestObject::DeletedAccount { user, application } => sentences([
            Message::new("action-remove-account")
                .text("user", unquoted(user))
                .text("application", unquoted(&application.name)),
            application_identifier(Some(&application.id)),
        ]),
    }
}

/// Returns the change of an existing application, with its identifier, and with the adoption first.
fn existing_application(owner: &str, application: &ManagedApplication, change: Message) -> Message {
    let NamedApplication { name, id } = &application.application;
    let adopted = application.adopted_as.as_deref().map(|key| {
        Message::new("action-adopt-application")
            .text("owner", owner)
            .text("application", unquoted(name))
            .text("key", key)
    });
    let id = Message::new("action-its-id").text("id", id.to_string());
    let change = (!application.members.is_empty()).then_some(change);
    sentences(adopted.into_iter().chain(change).chain([id]))
}

fn group(
    owner: &str,
    before: Option<&str>,
    name: &str,
    adopted_as: Option<&str>,
    added: &[String],
    removed: &[String],
) -> Message {
    let current = unquoted(before.unwrap_or(name));
    let mut effects = Vec::new();
    if let Some(key) = adopted_as {
        effects.push(
            Message::new("action-adopt-group")
                .text("owner", owner)
                .text("group", current.as_str())
                .text("key", key),
        );
    }
    match before {
        None => {
            effects.push(Message::new("action-create-group").text("group", current.as_str()));
        }
        Some(before) if before != name => effects.push(
            Message::new("action-rename-group")
                .text("group", current.as_str())
                .text("name", unquoted(name)),
        ),
        Some(_) => {}
    }
    if !added.is_empty() {
        effects.push(
            Message::new("action-group-receives")
                .text("group", unquoted(name))
                .message("users", quoted(added)),
        );
    }
    if !removed.is_empty() {
        effects.push(
            Message::new("action-group-loses")
                .text("group", unquoted(name))
                .message("users", quoted(removed)),
        );
    }
    if effects.is_empty() {
        effects.push(Message::new("action-describe-group").text("group", current));
    }
    sentences(effects)
}

fn quoted(names: &[String]) -> Message {
    quoted_list(names.iter().map(String::as_str))
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
