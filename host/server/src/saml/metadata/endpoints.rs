//! The endpoints in a service provider's metadata (SAML metadata section 2.2.2).

use std::collections::BTreeSet;

use crate::domain::admin::{AcsChange, SingleLogoutChange};
use crate::saml::metadata::entity::name_list;
use crate::saml::metadata::error::MetadataError;
use crate::saml::metadata::names::{ASSERTION_CONSUMER_SERVICE, BINDINGS, SINGLE_LOGOUT_SERVICE};
use assent_model::saml::Binding;
use assent_saml_core::message::FormError;
use assent_saml_core::message::read::{attribute, boolean, index, require, uri};
use assent_saml_core::xml::{Element, Name};

pub(super) fn children<'d>(element: Element<'d>, name: Name) -> impl Iterator<Item = Element<'d>> {
    element.children().filter(move |child| child.is(name))
}

/// The endpoint of a service (SAML metadata section 2.2.2).
struct Endpoint<'d> {
    element: Element<'d>,
    binding: String,
    location: String,
}

fn endpoints<'d>(role: Element<'d>, name: Name) -> Result<Vec<Endpoint<'d>>, FormError> {
    let endpoint = |element| {
        let binding = require("Binding", uri(element, "Binding")?)?;
        Ok(Endpoint {
            element,
            binding,
            location: require("Location", uri(element, "Location")?)?,
        })
    };
    children(role, name).map(endpoint).collect()
}

/// Adds a note for each endpoint with another binding.
fn note_others(
    endpoints: &[Endpoint<'_>],
    taken: &[Binding],
    name: Name,
    why: &str,
    notes: &mut Vec<String>,
) {
    let others = endpoints.iter().map(|endpoint| endpoint.binding.as_str());
    let others: BTreeSet<_> = others
        .filter(|binding| taken.iter().all(|one| one.uri() != *binding))
        .collect();
    if !others.is_empty() {
        let bindings = name_list(
            others
                .into_iter()
                .map(|binding| binding.strip_prefix(BINDINGS).unwrap_or(binding)),
        );
        notes.push(format!(
            "{} was omitted where its binding is {bindings}: {why}.",
            name.local
        ));
    }
}

/// Returns the addresses to which responses are posted (SAML metadata section 2.4.4).
pub(super) fn consumers(
    role: Element<'_>,
    notes: &mut Vec<String>,
) -> Result<Vec<AcsChange>, MetadataError> {
    let mut services = endpoints(role, ASSERTION_CONSUMER_SERVICE)?;
    let why = "the server sends responses only by HTTP-POST";
    note_others(
        &services,
        &[Binding::Post],
        ASSERTION_CONSUMER_SERVICE,
        why,
        notes,
    );
    services.retain(|service| service.binding == Binding::Post.uri());
    let mut flags = Vec::new();
    for service in &services {
        let is_default = boolean(service.element, "isDefault")?;
        flags.push(attribute(service.element, "isDefault").map(|_| is_default));
    }
    // The first endpoint with `isDefault="true"`, otherwise the first without `isDefault="false"` (section 2.2.3).
    let default = flags.iter().position(|flag| *flag == Some(true));
    let default = default.or_else(|| {
        flags
            .iter()
            .position(Option::is_none)
            .filter(|place| *place > 0)
    });

    let mut indexes = BTreeSet::new();
    let mut consumers = Vec::new();
    for (place, service) in services.into_iter().enumerate() {
        let own = index(service.element, "index")?;
        let index = own
            .filter(|own| !indexes.contains(own))
            .or_else(|| (0..=u16::MAX).find(|n| !indexes.contains(n)));
        if own != index {
            let said = own.map_or("has no index".to_owned(), |own| {
                format!("has the index {own} of another")
            });
            let number = index.unwrap_or_default();
            notes.push(format!(
                "The ACS {} {said}; it was given the index {number}.",
                service.location
            ));
        }
        indexes.extend(index);
        consumers.push(AcsChange {
            url: service.location,
            index,
            default: default == Some(place),
        });
    }
    if consumers.is_empty() {
        Err(MetadataError::NoPost)
    } else {
        Ok(consumers)
    }
}

/// Returns the endpoint of single logout, by redirect if possible (SAML metadata section 2.4.2).
pub(super) fn single_logout(
    role: Element<'_>,
    notes: &mut Vec<String>,
) -> Result<Option<SingleLogoutChange>, MetadataError> {
    const TAKEN: [Binding; 2] = [Binding::Redirect, Binding::Post];
    let services = endpoints(role, SINGLE_LOGOUT_SERVICE)?;
    let why = "logout uses HTTP-Redirect or HTTP-POST";
    note_others(&services, &TAKEN, SINGLE_LOGOUT_SERVICE, why, notes);
    for binding in TAKEN {
        if let Some(service) = services
            .iter()
            .find(|service| service.binding == binding.uri())
        {
            let response_url = uri(service.element, "ResponseLocation")?;
            return Ok(Some(SingleLogoutChange {
                url: Some(Some(service.location.clone())),
                response_url: Some(response_url),
                binding: Some(Some(binding)),
            }));
        }
    }
    Ok(None)
}
