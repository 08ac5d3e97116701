//! What a change of an application would do, in words for the person to approve: of what it would be, as it would be
//! kept.

use std::collections::BTreeSet;

use super::action::{ChangedMember, ClientState, ServiceProviderState};
use super::escape::{address, addresses, listed, quoted};
use crate::keys::client;
use assent_model::application::OidcSettings;
use assent_model::client_auth::{ClientAuthentication, ClientKeys};
use assent_model::command::MemberValue;
use assent_model::id::Did;
use assent_model::redirect::RedirectUri;
use assent_model::saml::SingleLogout;

/// The summary of an update of a service provider. `name` is its current name, in quotes, here and below.
pub(super) fn updated_service_provider(
    name: &str,
    before: &ServiceProviderState,
    after: &ServiceProviderState,
    members: &[ChangedMember],
) -> String {
    let change = format!("Change the application {name}: {}", with_values(members));
    joined([change].into_iter().chain(changed_provider(before, after)))
}

/// Members, each with its value if the summary lists it.
fn with_values(members: &[ChangedMember]) -> String {
    let with_value = |ChangedMember { name, value }: &ChangedMember| match value {
        MemberValue::Unlisted => name.clone(),
        MemberValue::Removed => format!("no {name}"),
        MemberValue::Text(text) => format!("{name} {}", quoted(&address(text))),
        MemberValue::Texts(texts) => {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            format!("{name} ({})", addresses(&texts))
        }
        MemberValue::Flag(flag) => format!("{name} {flag}"),
        MemberValue::Number(number) => format!("{name} {number}"),
    };
    members
        .iter()
        .map(with_value)
        .collect::<Vec<_>>()
        .join(", ")
}

/// The summary of what metadata that was read would change: the members, and what matters of them.
pub(super) fn applied_metadata(
    name: &str,
    before: &ServiceProviderState,
    after: &ServiceProviderState,
    members: &[String],
) -> String {
    let change = format!(
        "Change the application {name} to what its metadata says: {}",
        listed(members.iter().map(String::as_str))
    );
    joined([change].into_iter().chain(changed_provider(before, after)))
}

/// Sentences; each text of somebody else's in them has an end of its own.
fn joined(sentences: impl IntoIterator<Item = String>) -> String {
    sentences.into_iter().collect::<Vec<_>>().join(". ")
}

/// The summary of a new client.
pub(super) fn new_client(client: &ClientState) -> String {
    let change = format!("Create the application {}", quoted(&client.name));
    joined(
        [change, administers(client)]
            .into_iter()
            .chain(proof(&client.settings.authentication, None)),
    )
}

/// The summary of an update of a client.
pub(super) fn updated_client(
    (id, name): (&Did, &str),
    before: &ClientState,
    after: &ClientState,
    (members, sets_admin_scopes): (&[ChangedMember], bool),
) -> String {
    let mut sentences = vec![format!(
        "Change the application {name}: {}",
        with_values(members)
    )];
    if before.name != after.name {
        sentences.push(format!("Its name is {}", quoted(&after.name)));
    }
    sentences.extend(availability(
        before.settings.enabled,
        after.settings.enabled,
    ));
    if sets_admin_scopes {
        sentences.push(administers(after));
        // Others may be called the same.
        sentences.push(format!("Its Client ID is {id}"));
    }
    let (was, is) = (
        &before.settings.authentication,
        &after.settings.authentication,
    );
    if was != is {
        sentences.extend(proof(is, Some(was)));
    } else if sets_admin_scopes {
        sentences.extend(proof(is, None));
    }
    let addresses_of = |client: &ClientState| -> Vec<String> {
        client
            .settings
            .redirect_uris
            .iter()
            .map(RedirectUri::as_str)
            .map(str::to_owned)
            .collect()
    };
    let (was, is) = (addresses_of(before), addresses_of(after));
    sentences.extend((was != is).then(|| answered_at(&was, &is)));
    sentences.extend(signing_in_and_out(&before.settings, &after.settings));
    if after.settings.lenient_assertion_audience && !before.settings.lenient_assertion_audience {
        sentences.push(
            "Its client assertions may be addressed to the token endpoint, which other servers can abuse".to_owned(),
        );
    }
    joined(sentences)
}

/// What disabling or enabling an application means.
fn availability(was_enabled: bool, is_enabled: bool) -> Option<String> {
    (was_enabled != is_enabled).then(|| {
        match is_enabled {
            true => "It is enabled: its users can sign in to it",
            false => {
                "It is disabled: no user can sign in to it, and its tokens are no longer valid"
            }
        }
        .to_owned()
    })
}

/// Where users are sent to sign in to a client and after signing out, and where it is notified of that.
fn signing_in_and_out(was: &OidcSettings, is: &OidcSettings) -> Vec<String> {
    let mut sentences = Vec::new();
    if was.initiate_login_uri != is.initiate_login_uri {
        sentences.push(match &is.initiate_login_uri {
            Some(uri) => format!(
                "Users open it from their start page at {}",
                address(uri.as_str())
            ),
            None => "Users cannot open it from their start page".to_owned(),
        });
    }
    let after = |settings: &OidcSettings| -> Vec<String> {
        settings
            .post_logout_redirect_uris
            .iter()
            .map(RedirectUri::as_str)
            .map(str::to_owned)
            .collect()
    };
    let (before, now) = (after(was), after(is));
    if before != now {
        sentences.push(at(
            "After signing out users return to",
            "After signing out users return nowhere",
            &before,
            &now,
        ));
    }
    let notified = |settings: &OidcSettings| {
        settings
            .backchannel_logout
            .as_ref()
            .map(|logout| logout.uri.clone())
    };
    let (before, now) = (notified(was), notified(is));
    if before != now {
        sentences.push(match now {
            Some(uri) => format!(
                "It is notified of the end of sessions at {}",
                address(uri.as_str())
            ),
            None => "It is no longer notified of the end of sessions".to_owned(),
        });
    }
    sentences
}

fn administers(client: &ClientState) -> String {
    let scopes = &client.settings.admin_scopes;
    match scopes.is_empty() {
        true => "It has no admin scopes".to_owned(),
        false => format!(
            "It has the admin scopes {}",
            scopes.to_string().replace(' ', ", ")
        ),
    }
}

fn changed_provider(before: &ServiceProviderState, after: &ServiceProviderState) -> Vec<String> {
    let (was, is) = (&*before.settings, &*after.settings);
    let mut sentences = Vec::new();
    if before.name != after.name {
        sentences.push(format!("Its name is {}", quoted(&after.name)));
    }
    sentences.extend(availability(was.enabled, is.enabled));
    if was.entity_id != is.entity_id {
        sentences.push(format!(
            "Its entity ID is {}",
            quoted(&is.entity_id.to_string())
        ));
    }
    if was.certificates != is.certificates {
        let digests = |provider: &ServiceProviderState| -> Vec<String> {
            provider
                .settings
                .certificates
                .iter()
                .map(|certificate| client::certificate_digest(&certificate.pem))
                .collect()
        };
        sentences.push(proven_by(
            "It authenticates with no certificate",
            CERTIFICATE,
            &digests(before),
            &digests(after),
        ));
    }
    // Each assertion has these, of whomever it is.
    for attribute in is
        .custom_attributes
        .iter()
        .filter(|one| !was.custom_attributes.contains(one))
    {
        let values: Vec<String> = attribute.values.iter().map(|value| quoted(value)).collect();
        sentences.push(format!(
            "It receives {} as {}",
            values.join(", "),
            quoted(&attribute.name)
        ));
    }
    for attribute in was
        .custom_attributes
        .iter()
        .filter(|one| !is.custom_attributes.contains(one))
    {
        sentences.push(format!(
            "It no longer receives {} as before",
            quoted(&attribute.name)
        ));
    }
    if was.metadata_url != is.metadata_url {
        sentences.push(match &is.metadata_url {
            Some(url) => format!("Its metadata is read from {}", address(url.as_str())),
            None => "Its metadata is read from nowhere".to_owned(),
        });
    }
    let consumers = |provider: &ServiceProviderState| -> Vec<String> {
        provider
            .settings
            .acs
            .iter()
            .map(|consumer| consumer.url.as_str().to_owned())
            .collect()
    };
    let (was, is) = (consumers(before), consumers(after));
    sentences.extend((was != is).then(|| answered_at(&was, &is)));
    let (was, is) = (
        &before.settings.single_logout,
        &after.settings.single_logout,
    );
    if was != is {
        sentences.push(match is {
            None => "It is no longer notified of the end of sessions".to_owned(),
            Some(SingleLogout {
                url, response_url, ..
            }) => {
                let urls: Vec<&str> = [url]
                    .into_iter()
                    .chain(response_url)
                    .map(|url| url.as_str())
                    .collect();
                format!(
                    "It is notified of the end of sessions, with the name of the user, at {}",
                    addresses(&urls)
                )
            }
        });
    }
    sentences
}

/// What stands before the digest of a certificate.
const CERTIFICATE: &str = "the certificate with the SHA-256 digest";

/// With what a client proves who it is, as people can compare it: thumbprints of keys (RFC 7638), digests of
/// certificates as OpenSSL shows them. All of them: whoever has the key of one that is not seen could be the client.
fn proof(is: &ClientAuthentication, was: Option<&ClientAuthentication>) -> Option<String> {
    let thumbprints = |authentication: Option<&ClientAuthentication>| match authentication {
        Some(ClientAuthentication::PrivateKeyJwt(ClientKeys::Jwks(keys))) => {
            keys.iter().map(client::thumbprint).collect()
        }
        _ => Vec::new(),
    };
    Some(match is {
        ClientAuthentication::PrivateKeyJwt(ClientKeys::Jwks(_)) => proven_by(
            "It authenticates with no key",
            "the key with the thumbprint",
            &thumbprints(was),
            &thumbprints(Some(is)),
        ),
        ClientAuthentication::PrivateKeyJwt(ClientKeys::JwksUri(uri)) => {
            format!(
                "It authenticates with the keys at {}",
                address(uri.as_str())
            )
        }
        ClientAuthentication::TlsClientCertificate(certificate) => {
            format!("It authenticates with {CERTIFICATE} {}", certificate.sha256)
        }
        // Of the one before nothing is kept that would do.
        ClientAuthentication::ClientSecretJwt if was.is_some() => {
            "It authenticates with a new client secret".to_owned()
        }
        _ => return None,
    })
}

/// What is new first; none twice.
fn proven_by(nothing: &str, kind: &str, was: &[String], is: &[String]) -> String {
    let distinct = BTreeSet::from_iter(is.iter().map(String::as_str));
    let (known, new): (Vec<&str>, Vec<&str>) = distinct
        .into_iter()
        .partition(|one| was.iter().any(|known| known == one));
    let before = |known: Vec<&str>| format!("as before with {kind} {}", known.join(" and "));
    match (new.is_empty(), known.is_empty()) {
        (true, true) => nothing.to_owned(),
        (true, false) => format!("It authenticates {}", before(known)),
        (false, true) => format!("It authenticates with {kind} {}", new.join(" and ")),
        (false, false) => format!(
            "It authenticates with {kind} {}; {}",
            new.join(" and "),
            before(known)
        ),
    }
}

/// Where an application is to be answered, what is new first: that is what somebody would send people to.
fn answered_at(before: &[String], after: &[String]) -> String {
    at(
        "It receives responses at",
        "It receives responses nowhere",
        before,
        after,
    )
}

/// Addresses after a change, the new ones first; `nowhere` where there are none.
fn at(what: &str, nowhere: &str, before: &[String], after: &[String]) -> String {
    let (known, new): (Vec<&str>, Vec<&str>) = after
        .iter()
        .map(String::as_str)
        .partition(|uri| before.iter().any(|known| known == uri));
    match (new.is_empty(), known.is_empty()) {
        (true, true) => nowhere.to_owned(),
        (true, false) => format!("{what} no new address, as before at: {}", addresses(&known)),
        (false, true) => format!("{what}: {}", addresses(&new)),
        (false, false) => format!(
            "{what}: {}; as before at: {}",
            addresses(&new),
            addresses(&known)
        ),
    }
}
