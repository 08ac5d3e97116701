//! The metadata of service providers: the parsed settings are consistent, and reading them again returns the same
//! settings.

#![no_main]

use std::collections::BTreeSet;

use assent::domain::admin::ServiceProviderChange;
use assent::saml::metadata::{MetadataDescription, MetadataRequirements, read};
use assent_model::clock::Timestamp;
use assent_model::saml::{NameIdFormat, SamlSettings};
use libfuzzer_sys::fuzz_target;

/// 2026-11-21T08:00:00Z
const NOW: Timestamp = Timestamp::from_millis(1_795_248_000_000);

fn check(description: &MetadataDescription) {
    let change = &description.change;
    let acs = change.acs.as_deref().expect("somewhere to post to");
    let indexes: BTreeSet<_> = acs.iter().map(|acs| acs.index.expect("an index")).collect();
    assert!(!acs.is_empty() && indexes.len() == acs.len());
    assert!(acs.iter().filter(|acs| acs.default).count() <= 1);
    let others = change.other_name_id_formats.as_deref().unwrap_or_default();
    assert!(change.name_id_format.is_some() || others.is_empty());
    assert!(
        change
            .name_id_format
            .is_none_or(|format| !others.contains(&format))
    );
    let certificates = change.certificates.as_deref();
    assert!(certificates.is_none_or(|certificates| !certificates.is_empty()));
    for certificate in certificates.unwrap_or_default() {
        assert!(certificate.starts_with("-----BEGIN CERTIFICATE-----\n"));
    }
    // Metadata never removes or loosens a setting that the administrator did not specify.
    assert!(
        change.single_logout.as_ref().is_none_or(Option::is_some)
            && change.require_signed_requests != Some(false)
    );
    assert!(
        change.name.is_none()
            && change.clock_skew_seconds.is_none()
            && change.custom_attributes.is_none()
    );
    if let Some(name) = &description.display_name {
        assert!((1..=120).contains(&name.chars().count()) && !name.chars().any(char::is_control));
    }
}

fuzz_target!(|input: &[u8]| {
    let requirements = MetadataRequirements {
        now: NOW,
        entity_id: None,
        key: None,
        registered: None,
    };
    let description = match read(input, &requirements) {
        Ok(description) => description,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    check(&description);
    let entity_id = description.change.entity_id.clone().expect("an entity ID");
    assert!(!entity_id.is_empty());

    // For a registered application, found by its entity ID: the registered format stays if the metadata lists it.
    let mut registered = SamlSettings::new(entity_id.clone());
    registered.name_id.default = NameIdFormat::Persistent;
    registered.require_signed_requests = true;
    let requirements = MetadataRequirements {
        entity_id: Some(&entity_id),
        registered: Some(&registered),
        ..requirements
    };
    let again = read(input, &requirements).expect("it was read before");
    check(&again);
    let formats = |description: &MetadataDescription| {
        let change = &description.change;
        let others = change.other_name_id_formats.clone().unwrap_or_default();
        change
            .name_id_format
            .into_iter()
            .chain(others)
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(formats(&again), formats(&description));
    let has_persistent = formats(&again).contains(&NameIdFormat::Persistent);
    assert_eq!(
        again.change.name_id_format == Some(NameIdFormat::Persistent),
        has_persistent
    );
    assert!(
        read(
            input,
            &MetadataRequirements {
                entity_id: Some("urn:another"),
                ..requirements
            }
        )
        .is_err()
            || entity_id == "urn:another"
    );

    let requested = ServiceProviderChange {
        entity_id: Some("urn:requested".to_owned()),
        ..ServiceProviderChange::default()
    };
    let change = description.beside(requested);
    assert_eq!(change.entity_id.as_deref(), Some("urn:requested"));
});
