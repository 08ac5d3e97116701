//! The description of a service provider in its metadata. Features that Assent does not support are omitted, with a
//! note.

use std::collections::BTreeSet;

use super::entity::{FoundEntity, find, name_list};
use super::error::MetadataError;
use super::names::{
    ATTRIBUTE_CONSUMING_SERVICE, DISPLAY_NAME, EXTENSIONS, KEY_DESCRIPTOR, KEY_INFO, LANG,
    NAME_ID_FORMAT, ORGANIZATION, ORGANIZATION_DISPLAY_NAME, REQUESTED_ATTRIBUTE, UI_INFO,
    X509_CERTIFICATE, X509_DATA,
};
use crate::domain::admin::ServiceProviderChange;
use crate::keys::saml::partner_certificate;
use crate::saml::metadata::endpoints::{children, consumers, single_logout};
use assent_model::clock::Timestamp;
use assent_model::name::display_text;
use assent_model::saml::{NameIdFormat, PartnerCertificate, SamlSettings};
use assent_saml_core::message::read::{attribute, boolean, uri_text};
use assent_saml_core::xml::{Document, Element, ShapeError, TrustedKey, XmlLimits};

/// The maximum length of an application's name, in characters.
const LONGEST_NAME: usize = 120;

/// The requirements for metadata.
#[derive(Clone, Copy, Debug)]
pub struct MetadataRequirements<'a> {
    /// The current time.
    pub now: Timestamp,
    /// The entity ID of the service provider. Without one, the document must contain a single service provider.
    pub entity_id: Option<&'a str>,
    /// The key that must have signed the document. Without one, a signature is ignored.
    pub key: Option<&'a TrustedKey>,
    /// The registered settings of the service provider. Values that the metadata lacks stay unchanged.
    pub registered: Option<&'a SamlSettings>,
}

/// A service provider as its metadata describes it.
#[derive(Clone, Debug)]
pub struct MetadataDescription {
    /// The values to register. `name` is not among them.
    pub change: ServiceProviderChange,
    /// The name that users see.
    pub display_name: Option<String>,
    /// The omitted parts, with reasons: plain sentences for an administrator.
    pub notes: Vec<String>,
}

/// Reads the metadata of a service provider: an `EntityDescriptor`, or an `EntitiesDescriptor` that contains it, of 1
/// MiB at most.
///
/// # Errors
/// [`MetadataError`] if no service provider can be created from it.
pub fn read(
    bytes: &[u8],
    requirements: &MetadataRequirements<'_>,
) -> Result<MetadataDescription, MetadataError> {
    let document = Document::read(bytes, XmlLimits::METADATA)?;
    let Some(key) = requirements.key else {
        let mut description = describe_entity(document.unverified(), requirements)?;
        if document.has_signature() {
            description.notes.push(
                "Its signature was not checked, because there is no metadata_certificate to check it with.".to_owned(),
            );
        }
        return Ok(description);
    };
    describe_entity(
        document.verify(std::slice::from_ref(key))?.root(),
        requirements,
    )
}

impl MetadataDescription {
    /// Returns the values of a new application: those of the administrator, and those of the metadata for the other
    /// members.
    pub fn beside(self, requested: ServiceProviderChange) -> ServiceProviderChange {
        let described = self.change;
        ServiceProviderChange {
            name: requested.name.or(self.display_name),
            entity_id: requested.entity_id.or(described.entity_id),
            acs: requested.acs.or(described.acs),
            single_logout: requested.single_logout.or(described.single_logout),
            name_id_format: requested.name_id_format.or(described.name_id_format),
            other_name_id_formats: requested
                .other_name_id_formats
                .or(described.other_name_id_formats),
            require_signed_requests: requested
                .require_signed_requests
                .or(described.require_signed_requests),
            certificates: requested.certificates.or(described.certificates),
            metadata_url: requested.metadata_url.or(described.metadata_url),
            ..requested
        }
    }
}

fn describe_entity(
    root: Element<'_>,
    requirements: &MetadataRequirements<'_>,
) -> Result<MetadataDescription, MetadataError> {
    let FoundEntity {
        entity_id,
        entity,
        role,
    } = find(root, requirements.entity_id, requirements.now)?;
    let mut notes = Vec::new();
    let in_entity = |error| match error {
        error @ (MetadataError::Malformed(_) | MetadataError::Certificates(_)) => {
            MetadataError::Entity(entity_id.clone(), Box::new(error))
        }
        error => error,
    };
    let acs = consumers(role, &mut notes).map_err(in_entity)?;
    let single_logout = single_logout(role, &mut notes).map_err(in_entity)?;
    let certificates = certificates(role, &mut notes).map_err(in_entity)?;
    let (name_id_format, other_name_id_formats) = name_id_formats(role, requirements, &mut notes)
        .map_err(in_entity)?
        .unzip();
    let has_certificates = !certificates.is_empty()
        || requirements
            .registered
            .is_some_and(|registered| !registered.certificates.is_empty());
    let signs = boolean(role, "AuthnRequestsSigned").map_err(|error| in_entity(error.into()))?;
    if signs && !has_certificates {
        notes.push(
            "Its requests are signed, but the metadata has no certificate, so signatures are not \
            required."
                .into(),
        );
    }
    if !signs
        && requirements
            .registered
            .is_some_and(|registered| registered.require_signed_requests)
    {
        notes.push(
            "It does not declare signed requests; this application still requires signatures."
                .into(),
        );
    }
    requested_attributes(role, &mut notes);
    Ok(MetadataDescription {
        change: ServiceProviderChange {
            entity_id: Some(entity_id),
            acs: Some(acs),
            single_logout: single_logout.map(Some),
            name_id_format,
            other_name_id_formats,
            require_signed_requests: (signs && has_certificates).then_some(true),
            certificates: (!certificates.is_empty()).then_some(certificates),
            ..ServiceProviderChange::default()
        },
        display_name: display_name(entity, role),
        notes,
    })
}

/// Returns the signing certificates in PEM form (SAML metadata section 2.4.1.1). A descriptor has one key, so only the
/// first certificate of a chain counts: its issuers must not sign for the service provider.
///
/// # Errors
/// [`MetadataError::Certificates`] if there are certificates for signing, and none of them can be used.
fn certificates(role: Element<'_>, notes: &mut Vec<String>) -> Result<Vec<String>, MetadataError> {
    let mut certificates = Vec::new();
    let mut rejected = Vec::new();
    for (index, descriptor) in children(role, KEY_DESCRIPTOR).enumerate() {
        let number = index.saturating_add(1);
        match attribute(descriptor, "use") {
            None | Some("signing") => {}
            Some("encryption") => {
                notes.push("A certificate for encryption was omitted: assertions are signed, not encrypted.".into());
                continue;
            }
            Some(_) => {
                notes.push(format!(
                    "KeyDescriptor {number} was omitted: its use is neither signing nor encryption."
                ));
                continue;
            }
        }
        let data = children(descriptor, KEY_INFO).flat_map(|info| children(info, X509_DATA));
        let texts: Vec<String> = data
            .flat_map(|data| children(data, X509_CERTIFICATE))
            .map(|certificate| Ok(certificate.text()?.trim().to_owned()))
            .collect::<Result<_, ShapeError>>()?;
        let mut texts = texts.iter().filter(|text| !text.is_empty());
        let Some(first) = texts.next() else {
            notes.push("A key for signing was omitted: it has no X509Certificate.".into());
            continue;
        };
        if texts.next().is_some() {
            notes.push("A key has several certificates; only the first one was used.".into());
        }
        match partner_certificate(first) {
            Ok(PartnerCertificate { pem }) if certificates.contains(&pem) => {}
            Ok(PartnerCertificate { pem }) => certificates.push(pem),
            Err(error) => rejected.push((number, error)),
        }
    }
    if certificates.is_empty() && !rejected.is_empty() {
        let rejected: Vec<String> = rejected
            .into_iter()
            .map(|(number, error)| format!("KeyDescriptor {number}: {error}"))
            .collect();
        return Err(MetadataError::Certificates(rejected.join("; ")));
    }
    notes.extend(rejected.into_iter().map(|(number, error)| {
        format!("The certificate of KeyDescriptor {number} was omitted: {error}.")
    }));
    Ok(certificates)
}

/// Returns the NameID formats: the default for requests without a format, and the others. The registered default stays
/// if it is among them. Returns `None` if the metadata names no known format.
fn name_id_formats(
    role: Element<'_>,
    requirements: &MetadataRequirements<'_>,
    notes: &mut Vec<String>,
) -> Result<Option<(NameIdFormat, Vec<NameIdFormat>)>, MetadataError> {
    let mut known = Vec::new();
    let mut unknown = Vec::new();
    for format in children(role, NAME_ID_FORMAT) {
        let format = uri_text(format, "a NameIDFormat")?;
        match NameIdFormat::from_uri(&format) {
            Some(format) => known.push(format),
            None => unknown.push(format),
        }
    }
    if !unknown.is_empty() {
        let formats = name_list(unknown.iter().map(String::as_str));
        notes.push(format!(
            "These NameID formats were omitted, because they are not supported: {formats}."
        ));
    }
    let Some(first) = known.first() else {
        return Ok(None);
    };
    let usual = requirements
        .registered
        .map(|registered| registered.name_id.default)
        .unwrap_or_default();
    let default = if known.contains(&usual) {
        usual
    } else {
        *first
    };
    known.retain(|format| *format != default);
    Ok(Some((default, known)))
}

/// Notes that an administrator configures the attributes of assertions here, not in the metadata.
fn requested_attributes(role: Element<'_>, notes: &mut Vec<String>) {
    let services = children(role, ATTRIBUTE_CONSUMING_SERVICE);
    let attributes = services.flat_map(|service| children(service, REQUESTED_ATTRIBUTE));
    let names = attributes.filter_map(|one| {
        one.attribute("FriendlyName")
            .or_else(|| one.attribute("Name"))
    });
    let names: BTreeSet<&str> = names.collect();
    if !names.is_empty() {
        let names = name_list(names.into_iter());
        notes.push(format!(
            "It requests attributes ({names}); custom_attributes and the plugins determine the sent ones."
        ));
    }
}

/// Returns the name for users, in English if there is one.
fn display_name(entity: Element<'_>, role: Element<'_>) -> Option<String> {
    let shown = children(role, EXTENSIONS).flat_map(|extensions| children(extensions, UI_INFO));
    let shown = shown.flat_map(|info| children(info, DISPLAY_NAME));
    let organizations = children(role, ORGANIZATION).chain(children(entity, ORGANIZATION));
    let organizations =
        organizations.flat_map(|organization| children(organization, ORGANIZATION_DISPLAY_NAME));
    in_english(shown).or_else(|| in_english(organizations))
}

fn in_english<'d>(names: impl Iterator<Item = Element<'d>>) -> Option<String> {
    let text = |name: Element<'d>| {
        let words: Vec<&str> = name.text().ok()?.split_whitespace().collect();
        let is_english = name
            .qualified_attribute(LANG)
            .is_some_and(|language| language.starts_with("en"));
        Some((!is_english, display_text(&words.join(" "), LONGEST_NAME)?))
    };
    let names: Vec<_> = names.filter_map(text).collect();
    names
        .into_iter()
        .min_by_key(|(other, _)| *other)
        .map(|(_, name)| name)
}
