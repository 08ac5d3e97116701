//! The selection of an entity in a document.

use super::error::MetadataError;
use super::names::{ENTITIES_DESCRIPTOR, ENTITY_DESCRIPTOR, SAML2, SP_SSO_DESCRIPTOR};
use assent_model::clock::Timestamp;
use assent_saml_core::message::instant_text;
use assent_saml_core::message::read::{moment, require, uri};
use assent_saml_core::xml::Element;

/// The maximum number of entities that a message names.
const NAMED: usize = 5;

/// A service provider in a document.
pub(super) struct FoundEntity<'d> {
    pub(super) entity_id: String,
    pub(super) entity: Element<'d>,
    /// Its `SPSSODescriptor` of SAML 2.0; the first if it has several.
    pub(super) role: Element<'d>,
}

/// An `EntityDescriptor`, and its expiry, which surrounding elements may limit.
struct Entity<'d> {
    element: Element<'d>,
    until: Option<Timestamp>,
}

/// Returns the service provider with this entity ID, or the only service provider if there is no entity ID.
pub(super) fn find<'d>(
    root: Element<'d>,
    entity_id: Option<&str>,
    now: Timestamp,
) -> Result<FoundEntity<'d>, MetadataError> {
    if !root.is(ENTITY_DESCRIPTOR) && !root.is(ENTITIES_DESCRIPTOR) {
        return Err(MetadataError::NotMetadata);
    }
    let mut entities = Vec::new();
    collect(root, None, &mut entities)?;
    let mut providers = Vec::new();
    for entity in entities {
        if entity
            .element
            .children()
            .any(|role| role.is(SP_SSO_DESCRIPTOR))
        {
            providers.push((
                require("entityID", uri(entity.element, "entityID")?)?,
                entity,
            ));
        }
    }
    let known = name_list(providers.iter().map(|(id, _)| id.as_str()));
    let is_meant = |id: &str| entity_id.is_none_or(|wanted| wanted == id);
    let mut meant = providers.into_iter().filter(|(id, _)| is_meant(id));
    let (entity_id, entity) = match (meant.next(), entity_id) {
        (Some(found), _) => found,
        (None, Some(wanted)) if !known.is_empty() => {
            return Err(MetadataError::Other {
                wanted: wanted.to_owned(),
                found: known,
            });
        }
        (None, _) => return Err(MetadataError::NoServiceProvider),
    };
    if meant.next().is_some() {
        return Err(MetadataError::Several(known));
    }
    let role = entity
        .element
        .children()
        .find(|role| role.is(SP_SSO_DESCRIPTOR) && speaks_saml2(*role));
    let role = role.ok_or(MetadataError::NoSaml2)?;
    match earlier(entity.until, moment(role, "validUntil")?) {
        Some(until) if until <= now => Err(MetadataError::Expired(instant_text(until))),
        _ => Ok(FoundEntity {
            entity_id,
            entity: entity.element,
            role,
        }),
    }
}

/// Collects the entities in an element (SAML metadata sections 2.3.1 and 2.3.2).
fn collect<'d>(
    element: Element<'d>,
    until: Option<Timestamp>,
    entities: &mut Vec<Entity<'d>>,
) -> Result<(), MetadataError> {
    if element.is(ENTITY_DESCRIPTOR) {
        entities.push(Entity {
            element,
            until: earlier(until, moment(element, "validUntil")?),
        });
    } else if element.is(ENTITIES_DESCRIPTOR) {
        let until = earlier(until, moment(element, "validUntil")?);
        for child in element.children() {
            collect(child, until, entities)?;
        }
    }
    Ok(())
}

fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    one.into_iter().chain(other).min()
}

fn speaks_saml2(role: Element<'_>) -> bool {
    role.attribute("protocolSupportEnumeration")
        .unwrap_or_default()
        .split_ascii_whitespace()
        .any(|one| one == SAML2)
}

/// Formats a list for a message.
pub(super) fn name_list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names = names.peekable();
    let mut list = names.by_ref().take(NAMED).collect::<Vec<_>>().join(", ");
    if names.peek().is_some() {
        list.push_str(&format!(" and {} more", names.count()));
    }
    list
}
