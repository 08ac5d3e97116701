//! Names instead of ids: the API's search finds the object with exactly this name.

use serde_json::Value;

use assent_admin_client::lookup::id_of;

use super::document::Operation;
use crate::cli::api::arguments::parsed::{ParsedArguments, Payload};
use assent_admin_client::connection::Api;
use assent_admin_client::lookup::ResourceKind;

/// Replaces names by ids.
///
/// # Errors
/// [`CommandError`] if no object, or more than one, has the name.
pub(super) async fn resolve(
    api: &Api,
    operation: &Operation,
    arguments: &mut ParsedArguments,
) -> anyhow::Result<()> {
    let mut application = None;
    for (text, name) in arguments.path.iter_mut().zip(operation.path_parameters()) {
        let Some(kind) = ResourceKind::from_parameter(&name) else {
            continue;
        };
        id_of(api, kind, text, application.as_deref()).await?;
        if kind == ResourceKind::Application {
            application = Some(text.clone());
        }
    }
    for (name, text) in &mut arguments.query {
        if let Some(kind) = ResourceKind::from_parameter(name) {
            id_of(api, kind, text, application.as_deref()).await?;
        }
    }
    if let Some(Payload::Json(members)) = &mut arguments.body {
        for (name, value) in members {
            let (kind, texts) = match value {
                Value::String(_) => (
                    ResourceKind::from_parameter(name),
                    std::slice::from_mut(value),
                ),
                Value::Array(items) => (ResourceKind::from_list(name), items.as_mut_slice()),
                _ => continue,
            };
            for text in texts {
                if let (Some(kind), Value::String(text)) = (kind, text) {
                    id_of(api, kind, text, application.as_deref()).await?;
                }
            }
        }
    }
    Ok(())
}
