//! The actors of grants, as columns of other tables: JSON, the kind and the id, as in the audit log.

use crate::Result;
use crate::engine::rows::{Cell, from_json, to_json};
use assent_model::audit::{Actor, Entry};

/// Returns the value of a column.
pub(crate) fn actor_json(actor: Option<&Actor>) -> Result<Option<String>> {
    actor
        .map(|actor| to_json(&(actor.kind(), actor.id())))
        .transpose()
}

/// Reads the value of a column.
pub(crate) fn actor(text: &str, cell: Cell<'_>) -> Result<Actor> {
    let (kind, id): (String, Option<String>) = from_json(text, cell)?;
    Actor::parse(&kind, id.as_deref()).ok_or_else(|| cell.unexpected())
}

/// Returns the actor of a write: that of its entries for the audit log.
pub(crate) fn actor_of(entries: &[Entry]) -> Option<&Actor> {
    entries.first().map(|entry| &entry.actor)
}
