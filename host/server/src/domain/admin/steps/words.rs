//! What a dangerous step would do, in words for the person to approve.

use serde_json::{Map, Value};

use super::application_words::is_harmful;
use crate::domain::admin::protected_actions::escape::{quoted, shortened};
use crate::domain::admin::service_providers::{certificate_digest, saml_certificates};
use crate::domain::admin::{Caller, ImportReport, Refused, Result, invalid, registered};
use crate::domain::{Host, plugins};
use assent_model::administration::Danger;
use assent_model::application::Registered;
use assent_model::id::Did;
use assent_model::secret::Digest;
use assent_model::step::Words;

/// What a request would do. `None` where it does nothing that is dangerous. `subject` is the id in the request's path, `key` that of
/// a key or the name of a channel there, `body` the members of its body.
///
/// # Errors
/// [`Refused::Forbidden`] where whoever calls may not do it: nobody's phone asks about what would be refused afterwards.
/// [`Refused::NotFound`] where there is no such user, device or application, [`Refused::Invalid`] and [`Refused::Conflict`] where it
/// is not known which plugins would be put back.
pub async fn in_words(
    host: &Host,
    caller: &Caller,
    danger: Danger,
    (subject, key): (Option<&str>, Option<&str>),
    body: &Map<String, Value>,
) -> Result<Option<Words>> {
    of_expected_kinds(body)?;
    match danger {
        Danger::DeleteUser
        | Danger::EraseUser
        | Danger::ChangeUser
        | Danger::AddDevice
        | Danger::SetApprovalAddress
        | Danger::GiveAccount
        | Danger::ChangeAccount
        | Danger::DeleteAccount
        | Danger::RemoveDevice => Ok(None),
        // How much of it is new is in the words of [`table_in_words`], for whoever has read it.
        Danger::ImportTable => Ok(Some(Words::of_nobody("Import a table".to_owned()))),
        Danger::ReloadPlugins => Ok(Some(Words::of_nobody("Exchange the plugins".to_owned()))),
        // [`component_in_words`] names the component, once a caller has read it.
        Danger::TryComponent => Ok(Some(Words::of_nobody(
            "Try a component that is not loaded".to_owned(),
        ))),
        Danger::RollBackPlugins => {
            // These are put back or none: the body names them, and the approval is for that body.
            let digest = body.get("previous").and_then(Value::as_str);
            let digest = digest.ok_or_else(|| {
                invalid("previous", "expected the digest of the plugins to put back")
            })?;
            let previous = plugins::previous_known_by(host, Some(digest))?;
            let previous = previous.in_words();
            Ok(Some(Words::of_nobody(format!(
                "Put the plugins back that were there before the last exchange: {previous}"
            ))))
        }
        Danger::DeleteApplication
        | Danger::GiveAdminScopes
        | Danger::ChangeApplication
        | Danger::ApplyMetadata
        | Danger::NewSecret
        | Danger::RotateKey
        | Danger::RevokeKey => {
            let application = match subject {
                Some(id) => Some(
                    registered(
                        host,
                        &id.parse().map_err(|_| Refused::NotFound("application"))?,
                    )
                    .await?,
                ),
                None => None,
            };
            if let Some(application) = &application {
                caller.must_reach_registered(application)?;
            }
            if body
                .get("admin_scopes")
                .is_some_and(|scopes| !scopes.is_null())
            {
                caller.must_give_scopes()?;
            }
            let certificate = match (&application, key) {
                (Some(application), Some(key)) => {
                    Some(certificate_of(host, application.id(), key).await?)
                }
                _ => None,
            };
            Ok(of_application(
                danger,
                application.as_ref(),
                certificate.as_deref().or(key),
                body,
            )
            .map(Words::of_nobody))
        }
    }
}

/// The trial of a component that is not loaded, in words.
pub fn component_in_words(plugin: &str, component: &Digest) -> Words {
    Words::of_nobody(format!(
        "Try a new component as the plugin {}, with the SHA-256 digest {}",
        quoted(plugin),
        component.to_text()
    ))
}

/// A text of the body, of somebody or something that is to be.
fn text_of(body: &Map<String, Value>, name: &str) -> String {
    quoted(body.get(name).and_then(Value::as_str).unwrap_or("?"))
}

/// What the import of a table would do that was checked: of the accounts of an application, or else of users. `None` where it would
/// do nothing, since a row is wrong or all is as the table says.
///
/// # Errors
/// [`Refused::NotFound`] where there is no such application.
pub async fn table_in_words(
    host: &Host,
    application: Option<&Did>,
    report: &ImportReport,
) -> Result<Option<Words>> {
    let ImportReport {
        rows,
        created,
        changed,
        readdressed,
        renamed,
        ..
    } = report;
    if created + changed == 0 {
        return Ok(None);
    }
    let what = match application {
        Some(id) => {
            let application = registered(host, id).await?;
            format!(
                "{} of the application {}",
                counted(*rows, "account"),
                quoted(application.name())
            )
        }
        None => counted(*rows, "user"),
    };
    // Applications may know a person by the name or the address.
    let noted = |count: &u64, what: &str| {
        if *count == 0 {
            String::new()
        } else {
            format!(", {count} with another {what}")
        }
    };
    let (names, addresses) = (noted(renamed, "name"), noted(readdressed, "e-mail address"));
    let text =
        format!("Import a table of {what}: {created} new, {changed} changed{names}{addresses}");
    Ok(Some(Words::of_nobody(text)))
}

/// The digest of the certificate that signs for a service provider and has this id.
async fn certificate_of(host: &Host, application: &Did, key: &str) -> Result<String> {
    let all = saml_certificates(host, application).await?;
    let found = all
        .iter()
        .find(|(known, _)| known.id.to_string() == key)
        .ok_or(Refused::NotFound("certificate"))?;
    Ok(certificate_digest(&found.0.certificate))
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 {
        format!("1 {what}")
    } else {
        format!("{count} {what}s")
    }
}

/// Refuses members that are not of the kind that they are looked at as. A value of an enumeration may be written as an object, too,
/// and would be read as such further on, after it was nothing here.
fn of_expected_kinds(body: &Map<String, Value>) -> Result<()> {
    const TEXTS: [&str; 13] = [
        "name",
        "email",
        "user_id",
        "state",
        "console_role",
        "previous",
        "application_type",
        "consent",
        "token_endpoint_auth_method",
        "id_token_signed_response_alg",
        "subject_type",
        "name_id_format",
        "name_id_source",
    ];
    const LISTS: [&str; 5] = [
        "admin_scopes",
        "redirect_uris",
        "grant_types",
        "scopes",
        "other_name_id_formats",
    ];
    let is_text = |value: &Value| value.is_string() || value.is_null();
    let is_list = |value: &Value| {
        value.is_null()
            || value
                .as_array()
                .is_some_and(|all| all.iter().all(Value::is_string))
    };
    let is_switch = |value: &Value| value.is_boolean() || value.is_null();
    let all = |names: &[&'static str], fits: &dyn Fn(&Value) -> bool, expected: &str| {
        let unfit = names
            .iter()
            .find(|name| body.get(**name).is_some_and(|value| !fits(value)));
        unfit.map_or(Ok(()), |name| Err(invalid(name, expected)))
    };
    all(&TEXTS, &is_text, "expected a text")?;
    all(&LISTS, &is_list, "expected a list of texts")?;
    let is_consumer = |one: &Value| one.get("url").is_some_and(Value::is_string);
    let are_consumers = |value: &Value| {
        value.is_null()
            || value
                .as_array()
                .is_some_and(|all| all.iter().all(is_consumer))
    };
    all(
        &["acs"],
        &are_consumers,
        "expected a list of objects such as {\"url\": \"https://app.example.org/acs\"}",
    )?;
    all(&["apply", "now"], &is_switch, "expected true or false")
}

fn of_application(
    danger: Danger,
    application: Option<&Registered>,
    key: Option<&str>,
    body: &Map<String, Value>,
) -> Option<String> {
    let name = application.map_or_else(|| text_of(body, "name"), |known| quoted(known.name()));
    match danger {
        Danger::DeleteApplication => Some(format!("Delete the application {name}")),
        Danger::NewSecret => Some(format!("Make a new client secret for {name}")),
        // What it says is in the words of [`metadata_in_words`], for whoever has read it.
        Danger::ApplyMetadata => Some(format!(
            "Change the application {name} to what its metadata says"
        )),
        // What it would be is in the words of [`application_in_words`], for whoever knows that.
        Danger::GiveAdminScopes => body
            .get("admin_scopes")
            .map(|_| format!("Let the application {name} administer this server")),
        Danger::RotateKey if application.is_some() => Some(match key {
            Some(digest) => {
                format!(
                    "Let the certificate with the SHA-256 digest {digest} sign for {name} from this moment"
                )
            }
            None => format!("Make another certificate, which is to sign for {name}"),
        }),
        Danger::RotateKey if body.get("now") == Some(&true.into()) => {
            Some("Let a new key sign ID tokens, from this moment".to_owned())
        }
        Danger::RotateKey => Some("Let a new key sign ID tokens".to_owned()),
        Danger::RevokeKey if application.is_some() => Some(format!(
            "Withdraw the certificate with the SHA-256 digest {} of {name}",
            key.unwrap_or("?")
        )),
        Danger::RevokeKey => Some(format!(
            "Revoke the signing key {}",
            shortened(key.unwrap_or("?"))
        )),
        _ => {
            let is_service = matches!(application, Some(Registered::Client(client)) if client.settings.is_service_account());
            let is_harmful = if is_service {
                !body.is_empty()
            } else {
                body.keys().any(|member| is_harmful(member))
            };
            is_harmful.then(|| format!("Change the application {name}"))
        }
    }
}
