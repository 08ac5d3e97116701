//! What a dangerous step would do, in words for the person to approve.

use serde_json::{Map, Value};

use super::application_words::is_harmful;
use super::shown::{quoted, shortened};
use crate::domain::admin::approval_addresses::address_there;
use crate::domain::admin::service_providers::{certificate_digest, saml_certificates};
use crate::domain::admin::users::email_address;
use crate::domain::admin::{Caller, ImportReport, Refused, Result, UserChange, account, invalid, registered, user};
use crate::domain::{Host, plugins};
use crate::id::Did;
use crate::model::administration::Danger;
use crate::model::application::Registered;
use crate::model::delivery::ApprovalAddress;
use crate::model::name::{LoginName, display_text};
use crate::model::step::{Mentioned, Words};
use crate::model::user::{LifeState, User};
use crate::secret::Digest;

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
        Danger::DeleteUser | Danger::EraseUser | Danger::ChangeUser | Danger::AddDevice => {
            let user = match subject {
                Some(id) => Some(user(host, id.parse().map_err(|_| Refused::NotFound("user"))?).await?),
                None => None,
            };
            let Some(mut text) = of_user(danger, user.as_ref(), body) else { return Ok(None) };
            if let Some(user) = &user {
                caller.must_reach(user)?;
            }
            let mentions = match &user {
                Some(user) => Some(Mentioned::User(user.id)),
                // Who is to have the name.
                None => new_name(body).as_ref().map(Mentioned::nobody),
            };
            if danger == Danger::ChangeUser {
                may_say(caller, user.is_some(), body)?;
                if let Some(user) = user.filter(|_| gives_role(body)) {
                    text += &ways_in(host, &user).await?;
                }
            }
            Ok(Some(Words { text, mentions }))
        }
        Danger::SetApprovalAddress => given_address(host, caller, (subject, key), body).await,
        Danger::GiveAccount => given_account(host, caller, subject, body).await,
        Danger::ChangeAccount | Danger::DeleteAccount => of_account(host, caller, danger, subject, body).await,
        Danger::RemoveDevice => {
            let unknown = || Refused::NotFound("device");
            let id = subject.unwrap_or_default().parse().map_err(|_| unknown())?;
            let device = host.store.device(id).await?.ok_or_else(unknown)?;
            let owner = user(host, device.user_id).await?;
            caller.must_reach(&owner)?;
            let named = || {
                format!("Remove the device {} of {}, who has a role in the console", quoted(&device.name), owner.name)
            };
            Ok(owner.console_role.is_some().then(|| of_person(named(), &owner)))
        }
        // How much of it is new is in the words of [`table_in_words`], for whoever has read it.
        Danger::ImportTable => Ok(Some(Words::of_nobody("Import a table".to_owned()))),
        Danger::ReloadPlugins => Ok(Some(Words::of_nobody("Exchange the plugins".to_owned()))),
        // [`component_in_words`] names the component, once a caller has read it.
        Danger::TryComponent => Ok(Some(Words::of_nobody("Try a component that is not loaded".to_owned()))),
        Danger::RollBackPlugins => {
            // These are put back or none: the body names them, and the approval is for that body.
            let digest = body.get("previous").and_then(Value::as_str);
            let digest = digest.ok_or_else(|| invalid("previous", "expected the digest of the plugins to put back"))?;
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
                Some(id) => Some(registered(host, &id.parse().map_err(|_| Refused::NotFound("application"))?).await?),
                None => None,
            };
            if let Some(application) = &application {
                caller.must_reach_registered(application)?;
            }
            if body.get("admin_scopes").is_some_and(|scopes| !scopes.is_null()) {
                caller.must_give_scopes()?;
            }
            let certificate = match (&application, key) {
                (Some(application), Some(key)) => Some(certificate_of(host, application.id(), key).await?),
                _ => None,
            };
            Ok(of_application(danger, application.as_ref(), certificate.as_deref().or(key), body).map(Words::of_nobody))
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

/// Words that mention this person.
fn of_person(text: String, person: &User) -> Words {
    Words { text, mentions: Some(Mentioned::User(person.id)) }
}

/// A text of the body, of somebody or something that is to be.
fn text_of(body: &Map<String, Value>, name: &str) -> String {
    quoted(body.get(name).and_then(Value::as_str).unwrap_or("?"))
}

/// The name of somebody who is to be, if it is one.
fn new_name(body: &Map<String, Value>) -> Option<LoginName> {
    body.get("name").and_then(Value::as_str)?.parse().ok()
}

/// The name that a body gives an account. What is none is refused further on.
fn account_name(body: &Map<String, Value>) -> Option<String> {
    display_text(body.get("name").and_then(Value::as_str)?, 128)
}

async fn given_address(
    host: &Host,
    caller: &Caller,
    (id, channel): (Option<&str>, Option<&str>),
    body: &Map<String, Value>,
) -> Result<Option<Words>> {
    let id = id.and_then(|id| id.parse().ok()).ok_or(Refused::NotFound("user"))?;
    let user = user(host, id).await?;
    caller.must_reach(&user)?;
    // What has none is refused further on.
    let (Some(channel), Some(Value::String(address))) = (channel, body.get("address")) else { return Ok(None) };
    if user.is_only_invited() {
        return Ok(None);
    }
    let ApprovalAddress { channel, address } = address_there(host, channel, address)?;
    let before = host.store.approval_addresses(id).await?.into_iter().find(|known| known.channel == channel);
    let before = before.map(|known| format!(", in place of {}", quoted(&known.address))).unwrap_or_default();
    let (address, channel) = (quoted(&address), quoted(&channel));
    let text = format!("Let whoever is {address} at the channel {channel} approve as {}{before}", user.name);
    Ok(Some(of_person(text, &user)))
}

async fn given_account(
    host: &Host,
    caller: &Caller,
    application: Option<&str>,
    body: &Map<String, Value>,
) -> Result<Option<Words>> {
    let Some(id) = body.get("user_id").and_then(Value::as_str).and_then(|id| id.parse().ok()) else { return Ok(None) };
    let user = user(host, id).await?;
    let Some(name) = account_name(body).filter(|name| *name != user.name.as_str()) else { return Ok(None) };
    caller.must_reach(&user)?;
    let id = application.and_then(|id| id.parse().ok()).ok_or(Refused::NotFound("application"))?;
    let application = registered(host, &id).await?;
    must_be_free(host, &id, &name).await?;
    let (name, application) = (quoted(&name), quoted(application.name()));
    let text = format!("Let {} be called {name} in the application {application}", user.name);
    Ok(Some(of_person(text, &user)))
}

/// Nobody is asked about a name that is somebody's.
async fn must_be_free(host: &Host, application: &Did, name: &str) -> Result<()> {
    let named = host.store.accounts_by_names(application, &[name.to_owned()]).await?;
    if named.is_empty() { Ok(()) } else { Err(Refused::TakenAt("name", "an account of this application has the name")) }
}

async fn of_account(
    host: &Host,
    caller: &Caller,
    danger: Danger,
    id: Option<&str>,
    body: &Map<String, Value>,
) -> Result<Option<Words>> {
    let id = id.and_then(|id| id.parse().ok()).ok_or(Refused::NotFound("account"))?;
    let account = account(host, id).await?;
    let user = user(host, account.user_id).await?;
    let application = registered(host, &account.application_id).await?;
    let (person, before, application) = (&user.name, quoted(&account.name), quoted(application.name()));
    let steps: Vec<String> = match danger {
        Danger::DeleteAccount => {
            vec![format!("Delete the account {before} of {person} in the application {application}")]
        }
        _ => {
            let renamed = account_name(body).filter(|name| *name != account.name);
            if let Some(name) = &renamed {
                caller.must_write_accounts()?;
                must_be_free(host, &account.application_id, name).await?;
            }
            let renamed = renamed.map(|name| {
                let name = quoted(&name);
                format!("Let {person} be called {name} in the application {application}, in place of {before}")
            });
            let closed = closes(body)
                .then(|| format!("Close the account {before} of {person} in the application {application} for good"));
            renamed.into_iter().chain(closed).collect()
        }
    };
    if steps.is_empty() {
        return Ok(None);
    }
    caller.must_write_accounts()?;
    caller.must_reach(&user)?;
    Ok(Some(of_person(steps.join("; "), &user)))
}

/// What the import of a table would do that was checked: of the accounts of an application, or else of users. `None` where it would
/// do nothing, since a row is wrong or all is as the table says.
///
/// # Errors
/// [`Refused::NotFound`] where there is no such application.
pub async fn table_in_words(host: &Host, application: Option<&Did>, report: &ImportReport) -> Result<Option<Words>> {
    let ImportReport { rows, created, changed, readdressed, renamed, .. } = report;
    if created + changed == 0 {
        return Ok(None);
    }
    let what = match application {
        Some(id) => {
            let application = registered(host, id).await?;
            format!("{} of the application {}", counted(*rows, "account"), quoted(application.name()))
        }
        None => counted(*rows, "user"),
    };
    // Applications may know a person by the name or the address.
    let noted =
        |count: &u64, what: &str| if *count == 0 { String::new() } else { format!(", {count} with another {what}") };
    let (names, addresses) = (noted(renamed, "name"), noted(readdressed, "e-mail address"));
    let text = format!("Import a table of {what}: {created} new, {changed} changed{names}{addresses}");
    Ok(Some(Words::of_nobody(text)))
}

/// The digest of the certificate that signs for a service provider and has this id.
async fn certificate_of(host: &Host, application: &Did, key: &str) -> Result<String> {
    let all = saml_certificates(host, application).await?;
    let found = all.iter().find(|(known, _)| known.id.to_string() == key).ok_or(Refused::NotFound("certificate"))?;
    Ok(certificate_digest(&found.0.certificate))
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Refuses what a body says of a user, who is known or new, that this caller may not say.
fn may_say(caller: &Caller, known: bool, body: &Map<String, Value>) -> Result<()> {
    let said = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
    let change = UserChange {
        email: said("email"),
        profile: body.get("profile").and_then(Value::as_object).cloned(),
        console_role: body.contains_key("console_role").then_some(None),
        state: closes(body).then_some(LifeState::Terminated),
        name: None,
    };
    change.beyond(caller, known).map_or(Ok(()), |(_, why)| Err(Refused::Forbidden(why)))
}

fn closes(body: &Map<String, Value>) -> bool {
    body.get("state").and_then(Value::as_str) == Some(LifeState::Terminated.as_str())
}

fn gives_role(body: &Map<String, Value>) -> bool {
    body.get("console_role").is_some_and(|role| !role.is_null())
}

/// With what a person approves, who is to have a role: whoever made one of these for themselves before would have the role too.
async fn ways_in(host: &Host, user: &User) -> Result<String> {
    let devices = host.store.devices_of(user.id).await?.len() as u64;
    let addresses = host.store.approval_addresses(user.id).await?.len() as u64;
    let vendors = match addresses {
        0 => String::new(),
        count => format!(" and {}", counted(count, "vendor's authenticator")),
    };
    Ok(format!("; {} approves with {}{vendors}", user.name, counted(devices, "device")))
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
    const LISTS: [&str; 5] = ["admin_scopes", "redirect_uris", "grant_types", "scopes", "other_name_id_formats"];
    let is_text = |value: &Value| value.is_string() || value.is_null();
    let is_list =
        |value: &Value| value.is_null() || value.as_array().is_some_and(|all| all.iter().all(Value::is_string));
    let is_switch = |value: &Value| value.is_boolean() || value.is_null();
    let all = |names: &[&'static str], fits: &dyn Fn(&Value) -> bool, expected: &str| {
        let unfit = names.iter().find(|name| body.get(**name).is_some_and(|value| !fits(value)));
        unfit.map_or(Ok(()), |name| Err(invalid(name, expected)))
    };
    all(&TEXTS, &is_text, "expected a text")?;
    all(&LISTS, &is_list, "expected a list of texts")?;
    let is_consumer = |one: &Value| one.get("url").is_some_and(Value::is_string);
    let are_consumers =
        |value: &Value| value.is_null() || value.as_array().is_some_and(|all| all.iter().all(is_consumer));
    all(&["acs"], &are_consumers, "expected a list of objects such as {\"url\": \"https://app.example.org/acs\"}")?;
    all(&["apply", "now"], &is_switch, "expected true or false")
}

fn of_user(danger: Danger, user: Option<&User>, body: &Map<String, Value>) -> Option<String> {
    // Whoever is made has the name that the body says.
    let name =
        user.map_or_else(|| new_name(body).map_or_else(|| "?".to_owned(), String::from), |user| user.name.to_string());
    match danger {
        Danger::DeleteUser => Some(format!("Delete the user {name}")),
        Danger::EraseUser => Some(format!("Erase who the user {name} was")),
        // A new person has no other way in yet.
        Danger::AddDevice if user.is_some_and(User::is_only_invited) => None,
        Danger::AddDevice => Some(format!("Let another device approve as {name}")),
        _ => {
            let closed = closes(body).then(|| format!("Close the user {name} for good"));
            let address = user.and_then(|user| of_address(user, body));
            let renamed = user.and_then(|user| of_name(user, body));
            // The role last, since what follows it is about the role.
            let role = body.get("console_role").map(|role| match role {
                Value::Null => format!("Take the role in the console from {name}"),
                role => format!("Give {name} the role {} in the console", shortened(role.as_str().unwrap_or("?"))),
            });
            let steps: Vec<String> = [closed, renamed, address, role].into_iter().flatten().collect();
            (!steps.is_empty()).then(|| steps.join("; "))
        }
    }
}

/// A change of what somebody signs in as, which applications are told as `preferred_username`.
fn of_name(user: &User, body: &Map<String, Value>) -> Option<String> {
    let name: LoginName = body.get("name").and_then(Value::as_str)?.parse().ok()?;
    (name != user.name).then(|| format!("Let {} sign in as {name}", user.name))
}

/// A change of the e-mail address of somebody who is there. An application may know a person by it, so whoever gives somebody's
/// address to another hands that person over.
fn of_address(user: &User, body: &Map<String, Value>) -> Option<String> {
    let (name, text) = (&user.name, body.get("email").and_then(Value::as_str)?);
    if text.is_empty() {
        return user.email.as_ref().map(|email| format!("Take the e-mail address {email} from {name}"));
    }
    // What is no address is refused further on.
    let email = email_address(text).ok().filter(|email| user.email.as_ref() != Some(email))?;
    Some(format!("Change the e-mail address of {name} to {email}"))
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
        Danger::ApplyMetadata => Some(format!("Change the application {name} to what its metadata says")),
        // What it would be is in the words of [`application_in_words`], for whoever knows that.
        Danger::GiveAdminScopes => {
            body.get("admin_scopes").map(|_| format!("Let the application {name} administer this server"))
        }
        Danger::RotateKey if application.is_some() => Some(match key {
            Some(digest) => {
                format!("Let the certificate with the SHA-256 digest {digest} sign for {name} from this moment")
            }
            None => format!("Make another certificate, which is to sign for {name}"),
        }),
        Danger::RotateKey if body.get("now") == Some(&true.into()) => {
            Some("Let a new key sign ID tokens, from this moment".to_owned())
        }
        Danger::RotateKey => Some("Let a new key sign ID tokens".to_owned()),
        Danger::RevokeKey if application.is_some() => {
            Some(format!("Withdraw the certificate with the SHA-256 digest {} of {name}", key.unwrap_or("?")))
        }
        Danger::RevokeKey => Some(format!("Revoke the signing key {}", shortened(key.unwrap_or("?")))),
        _ => {
            let is_service =
                matches!(application, Some(Registered::Client(client)) if client.settings.is_service_account());
            let is_harmful = if is_service { !body.is_empty() } else { body.keys().any(|member| is_harmful(member)) };
            is_harmful.then(|| format!("Change the application {name}"))
        }
    }
}
