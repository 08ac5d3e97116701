//! Names in place of ids: what is exactly so called is found by the API's own search.

use serde_json::Value;

use assent_admin_client::lookup::id_of;

use super::arguments::{ParsedArguments, Payload};
use super::document::Operation;
use assent_admin_client::connection::Api;
use assent_admin_client::lookup::ResourceKind;

/// Puts ids in place of names.
///
/// # Errors
/// [`CommandError`] where nothing is called so, or more than one.
pub(super) async fn resolve(
    api: &Api,
    operation: &Operation,
    given: &mut ParsedArguments,
) -> anyhow::Result<()> {
    let mut application = None;
    for (text, name) in given.path.iter_mut().zip(operation.path_parameters()) {
        let Some(kind) = ResourceKind::from_parameter(&name) else {
            continue;
        };
        id_of(api, kind, text, application.as_deref()).await?;
        if kind == ResourceKind::Application {
            application = Some(text.clone());
        }
    }
    for (name, text) in &mut given.query {
        if let Some(kind) = ResourceKind::from_parameter(name) {
            id_of(api, kind, text, application.as_deref()).await?;
        }
    }
    if let Some(Payload::Json(members)) = &mut given.body {
        for (name, value) in members {
            if let (Some(kind), Value::String(text)) = (ResourceKind::from_parameter(name), value) {
                id_of(api, kind, text, application.as_deref()).await?;
            }
        }
    }
    Ok(())
}
