//! Summaries of changes of applications, for approval. They describe the application after the change, as it would be
//! stored.

use std::collections::BTreeSet;

use super::application_state::{ChangedMember, ClientState, ServiceProviderState};
use super::escape::{addresses, quoted_list, unquoted};
use super::joined::{in_a_row, joined_by_and, sentences};
use crate::keys::client;
use crate::messages::Message;
use assent_model::application::OidcSettings;
use assent_model::client_auth::{CertificateIdentity, ClientAuthentication, ClientKeys};
use assent_model::command::MemberValue;
use assent_model::id::Did;
use assent_model::language::Language;
use assent_model::redirect::RedirectUri;
use assent_model::saml::{AssertionConsumer, Binding, SamlSettings};

/// The number of characters up to which a summary lists unchanged addresses. More of them are only counted, because a
/// division of the change would not make their list shorter.
const LONGEST_UNCHANGED: usize = 1_500;

/// Returns the summary of an update of a service provider. `name` is its current name, without quotes, here and below.
pub(super) fn updated_service_provider(
    name: &str,
    before: &ServiceProviderState,
    after: &ServiceProviderState,
    members: &[ChangedMember],
) -> Message {
    let availability = availability(name, before.settings.enabled, after.settings.enabled);
    sentences(
        changed_members(name, members, availability)
            .into_iter()
            .chain(changed_provider(before, after)),
    )
}

/// Returns the effect on the availability, which comes first, and the members of the change, each with its value if the
/// summary lists it. The member `enabled` is the availability.
fn changed_members(
    application: &str,
    members: &[ChangedMember],
    availability: Option<Message>,
) -> Vec<Message> {
    let others: Vec<&ChangedMember> = members
        .iter()
        .filter(|member| availability.is_none() || member.name != "enabled")
        .collect();
    let change = (availability.is_none() || !others.is_empty()).then(|| {
        Message::new("action-change-application")
            .text("application", application)
            .message("members", in_a_row(others.into_iter().map(with_value)))
    });
    availability.into_iter().chain(change).collect()
}

fn with_value(ChangedMember { name, value }: &ChangedMember) -> Message {
    let member = member_name(name);
    let plain = |value: String| {
        Message::new("action-member-value")
            .message("member", member_name(name))
            .text("value", value)
    };
    match value {
        MemberValue::Unlisted => member,
        MemberValue::Removed => Message::new("action-member-removed").message("member", member),
        MemberValue::Text(text) => Message::new("action-member-text")
            .message("member", member)
            .text("value", unquoted(text)),
        MemberValue::Texts(texts) if texts.is_empty() => {
            Message::new("action-member-removed").message("member", member)
        }
        MemberValue::Texts(texts) => Message::new("action-member-list")
            .message("member", member)
            .message("values", quoted_list(texts.iter().map(String::as_str))),
        MemberValue::Flag(flag) => plain(flag.to_string()),
        MemberValue::Number(number) => plain(number.to_string()),
    }
}

/// Returns the name of a member of a request on pages, or else the member's own name.
fn member_name(member: &str) -> Message {
    match member {
        "name" => Message::new("action-member-name"),
        "redirect_uris" => Message::new("action-member-redirect-uris"),
        "post_logout_redirect_uris" => Message::new("action-member-post-logout-redirect-uris"),
        "scopes" => Message::new("action-member-scopes"),
        "admin_scopes" => Message::new("action-member-admin-scopes"),
        "consent" => Message::new("action-member-consent"),
        "certificates" => Message::new("action-member-certificates"),
        "custom_attributes" => Message::new("action-member-custom-attributes"),
        "single_logout" => Message::new("action-member-single-logout"),
        "initiate_login_uri" => Message::new("action-member-initiate-login-uri"),
        "backchannel_logout_uri" => Message::new("action-member-backchannel-logout-uri"),
        "frontchannel_logout_uri" => Message::new("action-member-frontchannel-logout-uri"),
        other => Message::new("action-member").text("member", other),
    }
}

/// Returns the summary of an update by metadata: the changed members, and their sensitive values.
pub(super) fn applied_metadata(
    name: &str,
    before: &ServiceProviderState,
    after: &ServiceProviderState,
    members: &[String],
) -> Message {
    let members = members.iter().map(|member| member_name(member));
    let change = Message::new("action-apply-metadata")
        .text("application", name)
        .message("members", in_a_row(members));
    // Metadata does not change the availability.
    sentences([change].into_iter().chain(changed_provider(before, after)))
}

pub(super) fn new_client(client: &ClientState) -> Message {
    sentences(
        [creation(&client.name), administers(client)]
            .into_iter()
            .chain(proof(&client.settings.authentication, None)),
    )
}

/// Returns the summary of a new client of a manifest, with the addresses that receive its responses.
pub(super) fn created_client(client: &ClientState) -> Message {
    let addresses: Vec<String> = client
        .settings
        .redirect_uris
        .iter()
        .map(|uri| uri.as_str().to_owned())
        .collect();
    let answers = (!addresses.is_empty()).then(|| answered_at(&[], &addresses));
    match client.settings.is_service_account() {
        true => sentences([new_client(client)].into_iter().chain(answers)),
        false => sentences([creation(&client.name)].into_iter().chain(answers)),
    }
}

/// Returns the summary of a new service provider of a manifest.
pub(super) fn created_service_provider(provider: &ServiceProviderState) -> Message {
    let id = unquoted(&provider.settings.entity_id);
    sentences([
        creation(&provider.name),
        Message::new("action-its-entity-id").text("id", id),
        consumed_at(&[], &provider.settings.acs),
    ])
}

fn creation(name: &str) -> Message {
    Message::new("action-create-application").text("application", unquoted(name))
}

pub(super) fn updated_client(
    id: &Did,
    name: &str,
    before: &ClientState,
    after: &ClientState,
    members: &[ChangedMember],
    sets_admin_scopes: bool,
) -> Message {
    let availability = availability(name, before.settings.enabled, after.settings.enabled);
    let mut effects = changed_members(name, members, availability);
    if before.name != after.name {
        effects.push(Message::new("action-its-name").text("name", unquoted(&after.name)));
    }
    if sets_admin_scopes {
        effects.push(administers(after));
        // Other applications may have the same name.
        effects.push(Message::new("action-its-client-id").text("id", id.to_string()));
    }
    let (was, is) = (
        &before.settings.authentication,
        &after.settings.authentication,
    );
    if was != is {
        effects.extend(proof(is, Some(was)));
    } else if sets_admin_scopes {
        effects.extend(proof(is, None));
    }
    let request_keys = |client: &ClientState| client.settings.request_keys.clone();
    if request_keys(before) != request_keys(after) {
        effects.push(verified_by(request_keys(after).as_ref()));
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
    effects.extend((was != is).then(|| answered_at(&was, &is)));
    effects.extend(signing_in_and_out(&before.settings, &after.settings));
    effects.extend(passkeys(
        before.settings.passkey_sign_in,
        after.settings.passkey_sign_in,
    ));
    if before.settings.require_pkce != after.settings.require_pkce {
        effects.push(match after.settings.require_pkce {
            true => Message::new("action-pkce-required"),
            false => Message::new("action-pkce-optional"),
        });
    }
    if after.settings.lenient_assertion_audience && !before.settings.lenient_assertion_audience {
        effects.push(Message::new("action-lenient-audience"));
    }
    sentences(effects)
}

/// Returns the effect of disabling or enabling an application.
fn availability(application: &str, was_enabled: bool, is_enabled: bool) -> Option<Message> {
    (was_enabled != is_enabled).then(|| match is_enabled {
        true => Message::new("action-enable-application").text("application", application),
        false => Message::new("action-disable-application").text("application", application),
    })
}

/// Returns the effect of the setting for passkeys.
fn passkeys(were_permitted: bool, are_permitted: bool) -> Option<Message> {
    (were_permitted != are_permitted).then(|| match are_permitted {
        true => Message::new("action-passkeys-permitted"),
        false => Message::new("action-passkeys-refused"),
    })
}

/// Returns the URIs to which users are sent to sign in and after signing out, the URI that receives logout tokens, and
/// the URI that browsers load at the end of sessions.
fn signing_in_and_out(was: &OidcSettings, is: &OidcSettings) -> Vec<Message> {
    let mut effects = Vec::new();
    if was.initiate_login_uri != is.initiate_login_uri {
        effects.push(match &is.initiate_login_uri {
            Some(uri) => Message::new("action-starts-at").text("address", uri.as_str()),
            None => Message::new("action-starts-nowhere"),
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
        effects.push(returned_to(&before, &now));
    }
    let notified = |settings: &OidcSettings| {
        settings
            .backchannel_logout
            .as_ref()
            .map(|logout| logout.uri.clone())
    };
    let (before, now) = (notified(was), notified(is));
    if before != now {
        effects.push(match now {
            Some(uri) => Message::new("action-notified-at").text("address", uri.as_str()),
            None => Message::new("action-not-notified"),
        });
    }
    let page = |settings: &OidcSettings| {
        let logout = settings.frontchannel_logout.as_ref();
        logout.map(|logout| logout.uri.clone())
    };
    let (before, now) = (page(was), page(is));
    if before != now {
        effects.push(match now {
            Some(uri) => Message::new("action-logout-page").text("address", uri.as_str()),
            None => Message::new("action-no-logout-page"),
        });
    }
    effects
}

fn administers(client: &ClientState) -> Message {
    let scopes = &client.settings.admin_scopes;
    match scopes.is_empty() {
        true => Message::new("action-no-admin-scopes"),
        false => Message::new("action-admin-scopes")
            .text("scopes", scopes.to_string().replace(' ', ", ")),
    }
}

fn changed_provider(before: &ServiceProviderState, after: &ServiceProviderState) -> Vec<Message> {
    let (was, is) = (&*before.settings, &*after.settings);
    let mut effects = Vec::new();
    if before.name != after.name {
        effects.push(Message::new("action-its-name").text("name", unquoted(&after.name)));
    }
    effects.extend(passkeys(was.passkey_sign_in, is.passkey_sign_in));
    if was.unconfirmed_email != is.unconfirmed_email {
        effects.push(match is.unconfirmed_email {
            true => Message::new("action-unconfirmed-email-permitted"),
            false => Message::new("action-unconfirmed-email-refused"),
        });
    }
    if was.entity_id != is.entity_id {
        let id = unquoted(&is.entity_id.to_string());
        effects.push(Message::new("action-its-entity-id").text("id", id));
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
        effects.push(proven_by_certificates(&digests(before), &digests(after)));
    }
    effects.extend(changed_attributes(was, is));
    if was.metadata_url != is.metadata_url {
        effects.push(match &is.metadata_url {
            Some(url) => Message::new("action-metadata-at").text("address", url.as_str()),
            None => Message::new("action-metadata-nowhere"),
        });
    }
    if was.acs != is.acs {
        effects.push(consumed_at(&was.acs, &is.acs));
    }
    // The first address is the default too, if none is marked.
    let default =
        |settings: &SamlSettings| settings.default_acs().map(|acs| acs.as_str().to_owned());
    if let Some(address_of_default) = default(is).filter(|_| was.acs != is.acs) {
        effects.push(Message::new("action-answers-default").text("address", address_of_default));
    }
    let (was, is) = (
        &before.settings.single_logout,
        &after.settings.single_logout,
    );
    if was != is {
        effects.push(match is {
            None => Message::new("action-not-notified"),
            Some(logout) => {
                let urls = [&logout.url].into_iter().chain(&logout.response_url);
                let binding = match logout.binding {
                    Binding::Post => "HTTP-POST",
                    Binding::Redirect => "HTTP-Redirect",
                };
                Message::new("action-notified-with-name")
                    .message("addresses", addresses(urls.map(RedirectUri::as_str)))
                    .text("binding", binding)
            }
        });
    }
    effects
}

/// Returns the attributes of each assertion, which are the same for every user.
fn changed_attributes(was: &SamlSettings, is: &SamlSettings) -> Vec<Message> {
    let (known, now) = (&was.custom_attributes, &is.custom_attributes);
    let new = now.iter().filter(|one| !known.contains(one));
    let gone = known.iter().filter(|one| !now.contains(one));
    let received = new.map(|attribute| {
        let values = attribute.values.iter().map(String::as_str);
        Message::new("action-receives")
            .message("values", quoted_list(values))
            .text("name", unquoted(&attribute.name))
    });
    let lost = gone.map(|attribute| {
        Message::new("action-receives-no-more").text("name", unquoted(&attribute.name))
    });
    received.chain(lost).collect()
}

/// Returns the credentials with which a client authenticates, in a form that administrators can compare. These are
/// thumbprints of keys (RFC 7638), and digests of certificates as OpenSSL shows them. The list is complete, because an
/// attacker with an omitted key could act as the client.
fn proof(is: &ClientAuthentication, was: Option<&ClientAuthentication>) -> Option<Message> {
    let thumbprints = |authentication: Option<&ClientAuthentication>| match authentication {
        Some(ClientAuthentication::PrivateKeyJwt(ClientKeys::Jwks(keys))) => {
            keys.iter().map(client::thumbprint_text).collect()
        }
        _ => Vec::new(),
    };
    Some(match is {
        ClientAuthentication::PrivateKeyJwt(ClientKeys::Jwks(_)) => {
            proven_by_keys(&thumbprints(was), &thumbprints(Some(is)))
        }
        ClientAuthentication::PrivateKeyJwt(ClientKeys::JwksUri(uri)) => {
            Message::new("action-keys-at").text("address", uri.as_str())
        }
        ClientAuthentication::TlsClientCertificate(CertificateIdentity::Registered(_)) => {
            proven_by_certificates(&certificate_digests(was), &certificate_digests(Some(is)))
        }
        ClientAuthentication::TlsClientCertificate(CertificateIdentity::Named(name)) => {
            Message::new("action-certificate-name")
                .text("kind", name.kind().member())
                .text("name", unquoted(&name.to_text()))
        }
        // The stored form of the previous secret cannot be used.
        ClientAuthentication::ClientSecretJwt if was.is_some() => {
            Message::new("action-new-client-secret")
        }
        _ => return None,
    })
}

/// Returns the keys that verify the request objects of a client that does not authenticate with keys.
fn verified_by(keys: Option<&ClientKeys>) -> Message {
    match keys {
        None => Message::new("action-request-keys-none"),
        Some(ClientKeys::JwksUri(uri)) => {
            Message::new("action-request-keys-at").text("address", uri.as_str())
        }
        Some(ClientKeys::Jwks(keys)) => {
            let thumbprints = keys.iter().map(client::thumbprint_text);
            let items = thumbprints.map(|one| Message::new("action-item").text("value", one));
            match joined_by_and(items) {
                Some(items) => Message::new("action-request-keys").message("keys", items),
                None => Message::new("action-request-keys-none"),
            }
        }
    }
}

/// Returns the digests of the registered certificates.
fn certificate_digests(authentication: Option<&ClientAuthentication>) -> Vec<String> {
    match authentication {
        Some(ClientAuthentication::TlsClientCertificate(CertificateIdentity::Registered(
            registered,
        ))) => registered
            .iter()
            .map(|certificate| certificate.sha256().to_owned())
            .collect(),
        _ => Vec::new(),
    }
}

/// Returns the new texts and the unchanged ones, each joined with "and", without duplicates. `None` for an empty list.
fn known_and_new(was: &[String], is: &[String]) -> (Option<Message>, Option<Message>) {
    let distinct = BTreeSet::from_iter(is.iter().map(String::as_str));
    let (known, new): (Vec<&str>, Vec<&str>) = distinct
        .into_iter()
        .partition(|one| was.iter().any(|known| known == one));
    let items = |all: Vec<&str>| {
        joined_by_and(
            all.into_iter()
                .map(|one| Message::new("action-item").text("value", one)),
        )
    };
    (items(known), items(new))
}

fn proven_by_keys(was: &[String], is: &[String]) -> Message {
    match known_and_new(was, is) {
        (None, None) => Message::new("action-key-none"),
        (Some(known), None) => Message::new("action-key-known").message("known", known),
        (None, Some(new)) => Message::new("action-key-new").message("new", new),
        (Some(known), Some(new)) => Message::new("action-key-both")
            .message("new", new)
            .message("known", known),
    }
}

fn proven_by_certificates(was: &[String], is: &[String]) -> Message {
    match known_and_new(was, is) {
        (None, None) => Message::new("action-certificate-none"),
        (Some(known), None) => Message::new("action-certificate-known").message("known", known),
        (None, Some(new)) => Message::new("action-certificate-new").message("new", new),
        (Some(known), Some(new)) => Message::new("action-certificate-both")
            .message("new", new)
            .message("known", known),
    }
}

/// Returns the addresses after a change that existed before, and the new ones. `None` for an empty list.
fn kept_and_new(before: &[String], after: &[String]) -> (Option<Message>, Option<Message>) {
    let message = |address: &String| addresses([address.as_str()]);
    kept_and_new_of(before, after, message)
}

/// Returns the elements of a list that existed before, and the new ones. `None` for an empty list.
fn kept_and_new_of<T: PartialEq>(
    before: &[T],
    after: &[T],
    message: impl Fn(&T) -> Message,
) -> (Option<Message>, Option<Message>) {
    let (kept, new): (Vec<&T>, Vec<&T>) = after.iter().partition(|one| before.contains(one));
    let count = i64::try_from(kept.len()).unwrap_or(i64::MAX);
    let list = |all: Vec<&T>| (!all.is_empty()).then(|| in_a_row(all.into_iter().map(&message)));
    let kept = list(kept).map(|kept| {
        match kept.plain(Language::English).chars().count() <= LONGEST_UNCHANGED {
            true => kept,
            false => Message::new("action-unchanged-count").number("count", count),
        }
    });
    (kept, list(new))
}

/// Returns the consumer services, the new ones first. A request may choose one by its index.
fn consumed_at(before: &[AssertionConsumer], after: &[AssertionConsumer]) -> Message {
    let place = |consumer: &AssertionConsumer| (consumer.index, consumer.url.clone());
    let places = |all: &[AssertionConsumer]| -> Vec<_> { all.iter().map(place).collect() };
    let kept_and_new = kept_and_new_of(&places(before), &places(after), |(index, url)| {
        Message::new("action-consumer")
            .text("address", url.as_str())
            .number("index", *index)
    });
    receivers(kept_and_new)
}

/// Returns the redirect URIs, the new ones first, because an attacker would add one.
fn answered_at(before: &[String], after: &[String]) -> Message {
    receivers(kept_and_new(before, after))
}

fn receivers(kept_and_new: (Option<Message>, Option<Message>)) -> Message {
    match kept_and_new {
        (None, None) => Message::new("action-answers-nowhere"),
        (Some(kept), None) => Message::new("action-answers-kept").message("kept", kept),
        (None, Some(new)) => Message::new("action-answers-new").message("new", new),
        (Some(kept), Some(new)) => Message::new("action-answers-both")
            .message("new", new)
            .message("kept", kept),
    }
}

/// Returns the URIs after signing out, the new ones first.
fn returned_to(before: &[String], after: &[String]) -> Message {
    match kept_and_new(before, after) {
        (None, None) => Message::new("action-returns-nowhere"),
        (Some(kept), None) => Message::new("action-returns-kept").message("kept", kept),
        (None, Some(new)) => Message::new("action-returns-new").message("new", new),
        (Some(kept), Some(new)) => Message::new("action-returns-both")
            .message("new", new)
            .message("kept", kept),
    }
}
