//! Exports of access, for an auditor.

use std::sync::Arc;

use axum::response::Response;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::access_page::{AccessList, access_page, member_page};
use super::access_view::{access_view, member_access_view};
use super::file_stream::{stream_json, stream_table};
use super::input::{List, PageLimit};
use crate::domain::admin::{
    self, ACCESS_COLUMNS, AccessConditions, Caller, GROUP_ACCESS_COLUMNS, Names, UserAccess,
    names_of_actors,
};
use crate::domain::audit::moment_text;
use crate::domain::{InternalError, Services, audit};
use crate::http::problem::Problem;
use assent_model::audit::{Entry, Event};
use assent_model::group::Group;
use assent_store::MemberUse;

/// The format of an exported file.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Format {
    /// A table in CSV.
    #[default]
    Csv,
    /// A list in JSON.
    Json,
}

/// Records an export with its conditions in the audit log. The role may be personal data, so the log has no text of it.
async fn record(
    services: &Services,
    entry: Entry,
    conditions: &AccessConditions,
) -> Result<(), InternalError> {
    let entry = entry
        .with("denied", conditions.denied)
        .with("unused", conditions.unused.map(admin::Unused::as_str))
        .with("by_role", conditions.role.is_some());
    Ok(services.store.append_audit(vec![entry]).await?)
}

/// The items of a list as rows of a file, with the names of those who gave the access.
type Rows<T> = BoxFuture<'static, Result<(List<T>, Names), Problem>>;

/// The users with access to an application, or the applications that a user can open.
pub(super) async fn access(
    services: Arc<Services>,
    caller: &Caller,
    list: AccessList,
    conditions: AccessConditions,
    format: Format,
) -> Result<Response, Problem> {
    let entry = audit::entry(&services, Event::AccessExported, &caller.by);
    let entry = match &list {
        AccessList::To(application, q) => {
            admin::registered_application(&services, application).await?;
            // The search text may identify a user, and an erasure would not find it in the audit log.
            entry
                .in_application(application.clone())
                .with("searched", q.is_some())
        }
        AccessList::Of(user) => {
            admin::user(&services, *user).await?;
            entry.about(*user)
        }
    };
    record(&services, entry, &conditions).await?;
    let read = move |after: Option<String>| -> Rows<UserAccess> {
        let (services, list) = (Arc::clone(&services), list.clone());
        let conditions = conditions.clone();
        Box::pin(async move {
            let found =
                access_page(&services, &list, &conditions, after, PageLimit::EXPORT).await?;
            let grants = found.items.iter().flat_map(|access| &access.grants);
            let actors = grants.filter_map(|grant| grant.by.as_ref());
            let names = names_of_actors(&services, actors).await?;
            Ok((found, names))
        })
    };
    Ok(match format {
        Format::Csv => stream_table("access", &ACCESS_COLUMNS, move |after| {
            rows(read(after), |access, names| {
                Ok(admin::access_cells(&access, names, moment_text))
            })
        }),
        Format::Json => stream_json("access", move |after| {
            rows(read(after), |access, names| {
                json_text(&access_view(access, names))
            })
        }),
    })
}

/// The members of a group with their last use.
pub(super) async fn members(
    services: Arc<Services>,
    caller: &Caller,
    group: Group,
    conditions: AccessConditions,
    format: Format,
) -> Result<Response, Problem> {
    let entry = audit::entry(&services, Event::AccessExported, &caller.by)
        .with("group", group.id.to_string())
        .with("group_name", group.name.as_str());
    record(&services, entry, &conditions).await?;
    let name = group.name.to_string();
    let read = move |after: Option<String>| -> Rows<MemberUse> {
        let (services, conditions) = (Arc::clone(&services), conditions.clone());
        Box::pin(async move {
            let limit = PageLimit::EXPORT;
            let found = member_page(&services, group.id, &conditions, after, limit).await?;
            let actors = found
                .items
                .iter()
                .filter_map(|member| member.added_by.as_ref());
            let names = names_of_actors(&services, actors).await?;
            Ok((found, names))
        })
    };
    Ok(match format {
        Format::Csv => stream_table("group-access", &GROUP_ACCESS_COLUMNS, move |after| {
            let group = name.clone();
            rows(read(after), move |member, names| {
                Ok(admin::group_access_cells(
                    &group,
                    &member,
                    names,
                    moment_text,
                ))
            })
        }),
        Format::Json => stream_json("group-access", move |after| {
            rows(read(after), |member, names| {
                json_text(&member_access_view(member, names))
            })
        }),
    })
}

/// Converts the items of a page to rows of the file.
fn rows<T: Send + 'static, R: Send + 'static>(
    found: Rows<T>,
    row: impl Fn(T, &Names) -> Result<R, Problem> + Send + 'static,
) -> BoxFuture<'static, Result<List<R>, Problem>> {
    Box::pin(async move {
        let (List { items, next }, names) = found.await?;
        let items = items.into_iter().map(|item| row(item, &names));
        Ok(List {
            items: items.collect::<Result<_, _>>()?,
            next,
        })
    })
}

fn json_text(view: &impl Serialize) -> Result<String, Problem> {
    Ok(serde_json::to_string(view).map_err(InternalError::from)?)
}
