//! The list of applications, with the usage of each.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::ToSchema;

use super::application_view::RegisteredApplicationView;
use super::input::{List, Query, Search, after, list_query};
use crate::domain::Services;
use crate::domain::admin::{self, ApplicationQuery, UsageView};
use crate::domain::audit::moment_text;
use crate::http::operations::logos::address;
use crate::http::problem::Problem;
use assent_model::application::Protocol;
use assent_model::id::Did;
use assent_store::{ApplicationCursor, ApplicationOrder, ApplicationUsage, MOST_COUNTED};

list_query! {
    /// The filters of the list of applications.
    pub(super) struct ApplicationsQuery;
    /// The beginning of the name, without regard to case and accents; or a complete id.
    #[serde(default)]
    #[param(value_type = String, max_length = 254, required = false)]
    q: Search,
    /// Only applications with this protocol.
    #[param(inline)]
    protocol: Option<Protocol>,
    /// The order.
    #[param(inline, required = false)]
    #[serde(default)]
    order: OrderQuery,
}

/// List and search applications.
#[utoipa::path(
    get,
    path = "/applications",
    params(ApplicationsQuery),
    responses((status = 200, description = "A page of applications, in the order of their ids or names.",
        body = List<RegisteredApplicationView>))
)]
pub(super) async fn list(
    State(services): State<Arc<Services>>,
    Query(query): Query<ApplicationsQuery>,
) -> Result<Json<List<RegisteredApplicationView>>, Problem> {
    let search = ApplicationQuery {
        q: query.q.text().unwrap_or_default(),
        protocol: query.protocol,
        order: query.order.into(),
        after: after(query.after.as_deref())?,
    };
    let rows = admin::find_applications(&services, &search, query.limit.and_one()).await?;
    let ids: Vec<Did> = rows.iter().map(|row| row.id().clone()).collect();
    let usage = admin::application_usage(&services, &ids).await?;
    let sources = admin::registration_sources(&services, &ids).await?;
    Ok(Json(List::from_rows(
        rows,
        query.limit,
        |row| {
            let (id, name) = (row.id().clone(), row.name().to_owned());
            ApplicationCursor { id, name }.to_string()
        },
        |row| {
            let usage = usage_view(row.id(), usage.get(row.id()).cloned().unwrap_or_default());
            let source = sources.get(row.id()).cloned();
            let view = RegisteredApplicationView::from(row);
            view.with_usage(usage).with_registration(source)
        },
    )))
}

/// The order of a list of applications.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
enum OrderQuery {
    /// By their ids.
    #[default]
    #[serde(rename = "id")]
    Id,
    /// By their names, without regard to case and accents.
    #[serde(rename = "name")]
    Name,
    /// By their names, descending.
    #[serde(rename = "-name")]
    NameDescending,
}

impl From<OrderQuery> for ApplicationOrder {
    fn from(order: OrderQuery) -> Self {
        match order {
            OrderQuery::Id => Self::Id,
            OrderQuery::Name => Self::Name,
            OrderQuery::NameDescending => Self::NameDescending,
        }
    }
}

fn usage_view(application: &Did, usage: ApplicationUsage) -> UsageView {
    let ApplicationUsage {
        users,
        last_sign_in_at,
        logo,
    } = usage;
    UsageView {
        logo_url: logo.map(|digest| address(application, &digest)),
        users: users.min(MOST_COUNTED),
        more_users: users > MOST_COUNTED,
        last_sign_in_at: last_sign_in_at.map(moment_text),
    }
}
