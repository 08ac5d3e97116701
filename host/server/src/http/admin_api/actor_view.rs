//! The actors of the audit log and of grants.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::admin::Names;
use assent_model::audit::Actor;

/// The actor.
#[derive(Serialize, ToSchema)]
#[schema(as = Actor)]
pub(super) struct ActorView {
    kind: &'static str,
    id: Option<String>,
    /// The current name of the user or application.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    name: Option<String>,
}

/// Returns the view of an actor, with the current name.
pub(super) fn actor_view(actor: &Actor, names: &Names) -> ActorView {
    ActorView {
        kind: actor.kind(),
        id: actor.id(),
        name: match actor {
            Actor::User(id) => names.user(*id),
            Actor::Application(id) => names.application(id),
            Actor::Server | Actor::AdminToken(_) | Actor::Device(_) | Actor::Channel(_) => None,
        },
    }
}
