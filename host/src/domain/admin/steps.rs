//! Dangerous steps in the console: each needs a fresh approval on the phone of whoever takes it, for that very request.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::users::email_address;
use super::{Caller, ImportReport, Refused, Result, UserChange, invalid, registered, user};
use crate::clock::Timestamp;
use crate::domain::login::{self, Ended, View};
use crate::domain::session::SignedIn;
use crate::domain::{Broken, Host, approval, plugins};
use crate::id::{ApprovalId, Did, LoginId};
use crate::model::administration::Danger;
use crate::model::application::Registered;
use crate::model::audit::Origin;
use crate::model::login::{BrowserContext, LoginRequest, LoginStage};
use crate::model::name::{LoginName, display_text};
use crate::model::redirect::RedirectUri;
use crate::model::saml::ServiceProvider;
use crate::model::step::{ShownStep, StepRequest};
use crate::model::user::{LifeState, User};
use crate::secret::Digest;
use crate::store::Asked;

/// How long after the approval the step may be taken: the console does it at once.
const FRESH: Duration = Duration::from_secs(120);

/// The console in one browser.
#[derive(Clone, Debug)]
pub struct Console {
    /// Who is signed in there.
    pub signed_in: SignedIn,
    /// The digest of the cookie that tells browsers apart.
    pub browser: Digest,
    /// What the browser tells about itself.
    pub context: BrowserContext,
    /// From where it comes.
    pub origin: Origin,
}

/// A step that waits for the phone.
#[derive(Clone, Debug)]
pub struct AskedStep {
    /// What it is known by.
    pub id: LoginId,
    /// The number to type on the phone.
    pub number: String,
    /// Until when it can be approved.
    pub expires_at: Timestamp,
}

/// How a step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepState {
    /// The phone was asked.
    Waiting,
    /// It may be taken, once.
    Approved,
    /// The person denied it.
    Denied,
    /// Nobody approved in time, it was taken, or the number was wrong too often.
    Over,
}

/// Members of an application whose change hands nothing to anybody else.
const HARMLESS: [&str; 9] = [
    "name",
    "slim_id_token",
    "initiate_login_uri",
    "backchannel_logout_uri",
    "backchannel_logout_session_required",
    "post_logout_redirect_uris",
    "single_logout",
    "default_relay_state",
    "relay_states",
];
/// How much of a text of the body is shown, in characters.
const LONGEST: usize = 120;

/// What a request would do, in words for the person to approve. `None` where it does nothing that is dangerous. `subject` is
/// the id in the request's path, `key` that of a key there, `body` the members of its body.
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
) -> Result<Option<String>> {
    of_expected_kinds(body)?;
    match danger {
        Danger::DeleteUser | Danger::EraseUser | Danger::ChangeUser | Danger::AddDevice => {
            let user = match subject {
                Some(id) => Some(user(host, id.parse().map_err(|_| Refused::NotFound("user"))?).await?),
                None => None,
            };
            let Some(words) = of_user(danger, user.as_ref(), body) else { return Ok(None) };
            if let Some(user) = &user {
                caller.must_reach(user)?;
            }
            if danger != Danger::ChangeUser {
                return Ok(Some(words));
            }
            may_say(caller, user.is_some(), body)?;
            let ways = match user.filter(|_| gives_role(body)) {
                Some(user) => ways_in(host, &user).await?,
                None => String::new(),
            };
            Ok(Some(words + &ways))
        }
        Danger::GiveAccount => given_account(host, caller, subject, body).await,
        Danger::ChangeAccount | Danger::DeleteAccount => of_account(host, caller, danger, subject, body).await,
        Danger::RemoveDevice => {
            let unknown = || Refused::NotFound("device");
            let id = subject.unwrap_or_default().parse().map_err(|_| unknown())?;
            let device = host.store.device(id).await?.ok_or_else(unknown)?;
            let owner = user(host, device.user_id).await?;
            caller.must_reach(&owner)?;
            let named =
                || format!("Remove the device {} of {}, who has a role in the console", device.name, owner.name);
            Ok(owner.console_role.is_some().then(named))
        }
        // How much of it is new is in the words of [`table_in_words`], for whoever has read it.
        Danger::ImportTable => Ok(Some("Import a table".to_owned())),
        Danger::ReloadPlugins => Ok(Some("Exchange the plugins".to_owned())),
        Danger::RollBackPlugins => {
            // These are put back or none: the body names them, and the approval is for that body.
            let digest = body.get("previous").and_then(Value::as_str);
            let digest = digest.ok_or_else(|| invalid("previous", "expected the digest of the plugins to put back"))?;
            let previous = plugins::previous_known_by(host, Some(digest))?;
            Ok(Some(format!("Put the plugins back that were there before the last exchange: {}", previous.in_words())))
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
            Ok(of_application(danger, application.as_ref(), key, body))
        }
    }
}

/// The name that a body gives an account. What is none is refused further on.
fn account_name(body: &Map<String, Value>) -> Option<String> {
    display_text(body.get("name").and_then(Value::as_str)?, 128)
}

async fn given_account(
    host: &Host,
    caller: &Caller,
    application: Option<&str>,
    body: &Map<String, Value>,
) -> Result<Option<String>> {
    let Some(id) = body.get("user_id").and_then(Value::as_str).and_then(|id| id.parse().ok()) else { return Ok(None) };
    let user = user(host, id).await?;
    let Some(name) = account_name(body).filter(|name| *name != user.name.as_str()) else { return Ok(None) };
    caller.must_reach(&user)?;
    let id = application.and_then(|id| id.parse().ok()).ok_or(Refused::NotFound("application"))?;
    let application = registered(host, &id).await?;
    Ok(Some(format!("Let {} be called {name} in the application {}", user.name, application.name())))
}

async fn of_account(
    host: &Host,
    caller: &Caller,
    danger: Danger,
    account: Option<&str>,
    body: &Map<String, Value>,
) -> Result<Option<String>> {
    let id = account.and_then(|id| id.parse().ok()).ok_or(Refused::NotFound("account"))?;
    let account = super::account(host, id).await?;
    let user = user(host, account.user_id).await?;
    let application = registered(host, &account.application_id).await?;
    let (person, before, application) = (&user.name, &account.name, application.name());
    let steps: Vec<String> = match danger {
        Danger::DeleteAccount => {
            vec![format!("Delete the account {before} of {person} in the application {application}")]
        }
        _ => {
            let renamed = account_name(body).filter(|name| name != before);
            let renamed = renamed.map(|name| {
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
    Ok(Some(steps.join("; ")))
}

/// What the import of a table would do that was checked, in words for the person to approve: of the accounts of an application,
/// or else of users. `None` where it would do nothing, since a row is wrong or all is as the table says.
///
/// # Errors
/// [`Refused::NotFound`] where there is no such application.
pub async fn table_in_words(host: &Host, application: Option<&Did>, report: &ImportReport) -> Result<Option<String>> {
    let ImportReport { rows, created, changed, readdressed, renamed, .. } = report;
    if created + changed == 0 {
        return Ok(None);
    }
    let what = match application {
        Some(id) => format!("{} of the application {}", counted(*rows, "account"), registered(host, id).await?.name()),
        None => counted(*rows, "user"),
    };
    // Applications may know a person by the name or the address.
    let noted =
        |count: &u64, what: &str| if *count == 0 { String::new() } else { format!(", {count} with another {what}") };
    let (names, addresses) = (noted(renamed, "name"), noted(readdressed, "e-mail address"));
    Ok(Some(format!("Import a table of {what}: {created} new, {changed} changed{names}{addresses}")))
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
    const TEXTS: [&str; 6] = ["name", "email", "user_id", "state", "console_role", "previous"];
    const LISTS: [&str; 2] = ["admin_scopes", "redirect_uris"];
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
    all(&["apply", "now"], &is_switch, "expected true or false")
}

/// A text of the body as it is shown: no more of it than a person reads.
fn shown(value: Option<&Value>) -> String {
    shortened(value.and_then(Value::as_str).unwrap_or("?"))
}

fn shortened(text: &str) -> String {
    let mut characters = text.chars().filter(|c| !c.is_control());
    let shown: String = characters.by_ref().take(LONGEST).collect();
    if characters.next().is_some() { shown + "…" } else { shown }
}

/// Texts, as they are shown: so many as fit, and how many more there are.
fn listed<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut texts = texts.into_iter().map(shortened).peekable();
    let (mut list, mut length) = (Vec::new(), 0);
    while let Some(text) = texts.next_if(|text| length + text.chars().count() <= 4 * LONGEST) {
        length += text.chars().count();
        list.push(text);
    }
    let more = texts.count();
    list.join(", ") + &if more == 0 { String::new() } else { format!(", and {more} more") }
}

/// The texts of a list of the body.
fn texts(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Where an application is to be answered, what is new first: that is what somebody would send people to.
fn answered_at<'a>(before: &[&str], after: impl IntoIterator<Item = &'a str>) -> String {
    let (known, new): (Vec<&str>, Vec<&str>) = after.into_iter().partition(|uri| before.contains(uri));
    match (new.is_empty(), known.is_empty()) {
        (true, true) => "It is answered nowhere".to_owned(),
        (true, false) => format!("It is answered at no new address, as before at: {}", listed(known)),
        (false, true) => format!("It is answered at: {}", listed(new)),
        (false, false) => format!("It is answered at: {}; as before at: {}", listed(new), listed(known)),
    }
}

fn of_user(danger: Danger, user: Option<&User>, body: &Map<String, Value>) -> Option<String> {
    // Whoever is made has the name that the body says.
    let name = user.map_or_else(|| shown(body.get("name")), |user| user.name.to_string());
    match danger {
        Danger::DeleteUser => Some(format!("Delete the user {name}")),
        Danger::EraseUser => Some(format!("Erase who the user {name} was")),
        // A new person has no other way in yet.
        Danger::AddDevice
            if user.is_some_and(|user| user.state == LifeState::Invited && user.console_role.is_none()) =>
        {
            None
        }
        Danger::AddDevice => Some(format!("Let another device approve as {name}")),
        _ => {
            let closed = closes(body).then(|| format!("Close the account of {name} for good"));
            let address = user.and_then(|user| of_address(user, body));
            let renamed = user.and_then(|user| of_name(user, body));
            // The role last, since what follows it is about the role.
            let role = body.get("console_role").map(|role| match role {
                Value::Null => format!("Take the role in the console from {name}"),
                role => format!("Give {name} the role {} in the console", shown(Some(role))),
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
    let name = application.map_or_else(|| shown(body.get("name")), |known| known.name().to_owned());
    let scopes = |scopes: &Value| match listed(texts(scopes)) {
        none if none.is_empty() => format!("Let the application {name} administer nothing here"),
        scopes => format!("Let the application {name} administer this server: {scopes}"),
    };
    match danger {
        Danger::DeleteApplication => Some(format!("Delete the application {name}")),
        Danger::NewSecret => Some(format!("Make a new client secret for {name}")),
        // What it says is in the words of [`metadata_in_words`], for whoever has read it.
        Danger::ApplyMetadata => Some(format!("Change the application {name} to what its metadata says")),
        Danger::GiveAdminScopes => body.get("admin_scopes").map(scopes),
        Danger::RotateKey if application.is_some() => Some(format!("Change the certificate that signs for {name}")),
        Danger::RotateKey if body.get("now") == Some(&true.into()) => {
            Some("Let a new key sign ID tokens, from this moment".to_owned())
        }
        Danger::RotateKey => Some("Let a new key sign ID tokens".to_owned()),
        Danger::RevokeKey if application.is_some() => Some(format!("Withdraw a certificate of {name}")),
        Danger::RevokeKey => Some(format!("Revoke the signing key {}", key.unwrap_or("?"))),
        _ => {
            let is_service =
                matches!(application, Some(Registered::Client(client)) if client.settings.is_service_account());
            let harmful = |member: &&String| is_service || !HARMLESS.contains(&member.as_str());
            let members: Vec<&str> = body.keys().filter(harmful).map(String::as_str).collect();
            if members.is_empty() {
                return None;
            }
            let mut steps = vec![format!(
                "Change the application {name}: {}",
                members.join(", ").chars().take(2 * LONGEST).collect::<String>()
            )];
            steps.extend(body.get("admin_scopes").map(scopes));
            let before: Vec<&str> = application.map(addresses_of).unwrap_or_default();
            steps.extend(body.get("redirect_uris").map(|uris| answered_at(&before, texts(uris))));
            let acs = body.get("acs").and_then(Value::as_array);
            let urls = |acs: &'_ Vec<Value>| -> Vec<String> { acs.iter().map(|one| shown(one.get("url"))).collect() };
            steps.extend(acs.map(urls).map(|urls| answered_at(&before, urls.iter().map(String::as_str))));
            Some(steps.join(". "))
        }
    }
}

/// Where an application is answered.
fn addresses_of(application: &Registered) -> Vec<&str> {
    match application {
        Registered::Client(client) => client.settings.redirect_uris.iter().map(RedirectUri::as_str).collect(),
        Registered::ServiceProvider(provider) => consumers(provider),
    }
}

fn consumers(provider: &ServiceProvider) -> Vec<&str> {
    provider.settings.acs.iter().map(|consumer| consumer.url.as_str()).collect()
}

/// What metadata that was read would change, in words for the person to approve: the members, and where the application would be
/// answered.
pub fn metadata_in_words(before: &ServiceProvider, after: &ServiceProvider, members: &[&str]) -> String {
    let change = format!(
        "Change the application {} to what its metadata says: {}",
        before.name,
        listed(members.iter().copied())
    );
    if members.contains(&"acs") {
        return format!("{change}. {}", answered_at(&consumers(before), consumers(after)));
    }
    change
}

/// Asks the phones of whoever is signed in in a console whether a request may be done. `request` is its digest. `None` where
/// nothing can be asked: the session came of no device that is still theirs, or that was asked too often in the last minute.
pub async fn ask(
    host: &Arc<Host>,
    console: &Console,
    request: String,
    shown: ShownStep,
) -> std::result::Result<Option<AskedStep>, Broken> {
    let Console { signed_in, browser, context, origin } = console;
    let Some(device) = host.store.device_of_session(signed_in.session.id).await? else { return Ok(None) };
    if host.limits.device.take(&device, host.now()).is_err() {
        return Ok(None);
    }
    let step = StepRequest { user: signed_in.user.id, session: signed_in.session.id, request, shown: shown.clone() };
    let login = login::begin(host, LoginRequest::Step(Box::new(step)), *browser, context.clone(), None).await?;
    let asked = approval::ask_about_step(host, &login, device, &signed_in.user, (shown, origin.clone())).await?;
    let (Asked::Person(_), View::Waiting(login, asked)) = (asked, login::look(host, login.id, *browser).await?) else {
        return Ok(None);
    };
    Ok(Some(AskedStep { id: login.id, number: asked.number.to_string(), expires_at: asked.expires_at }))
}

/// How a step of this console stands; `None` if there is no such step there.
pub async fn state(host: &Host, console: &Console, id: LoginId) -> std::result::Result<Option<StepState>, Broken> {
    let view = login::look(host, id, console.browser).await?;
    if step_of(&view, console).is_none() {
        return Ok(None);
    }
    Ok(Some(match view {
        View::Waiting(..) => StepState::Waiting,
        View::Approved(..) => StepState::Approved,
        View::Ended(_, Ended::Denied) => StepState::Denied,
        _ => StepState::Over,
    }))
}

/// Gives a step up that was asked about in this session, so that the phone does not ask any longer. Tells whether there is one.
pub async fn give_up(host: &Host, console: &Console, id: LoginId) -> std::result::Result<bool, Broken> {
    let view = login::look(host, id, console.browser).await?;
    let (Some(_), Some(asked)) = (step_of(&view, console), view.login()) else { return Ok(false) };
    login::cancel(host, asked).await?;
    Ok(true)
}

/// Returns when a step no longer waits.
pub async fn decided(host: &Host, console: &Console, id: LoginId) -> std::result::Result<(), Broken> {
    let view = login::look(host, id, console.browser).await?;
    match (step_of(&view, console), view.login().map(|login| login.stage)) {
        (Some(_), Some(LoginStage::Asked(approval))) => login::decided(host, approval).await,
        _ => Ok(()),
    }
}

/// Uses up the approval of a step for the request with this digest: which approval it was. `None` if it is not good for this
/// request in this console, now; or if the request would do something else by now than these words, which the person approved.
pub async fn claim(
    host: &Host,
    console: &Console,
    id: LoginId,
    (request, words): (&str, &str),
) -> std::result::Result<Option<ApprovalId>, Broken> {
    let view = login::look(host, id, console.browser).await?;
    let fits = step_of(&view, console).is_some_and(|step| step.request == request && step.shown.words == words);
    let View::Approved(login, _) = view else { return Ok(None) };
    if !fits {
        return Ok(None);
    }
    Ok(host.store.claim_step(login.id, FRESH, host.now()).await?)
}

/// The step that a login is, if it was begun in this console.
fn step_of<'a>(view: &'a View, console: &Console) -> Option<&'a StepRequest> {
    let LoginRequest::Step(step) = &view.login()?.request else { return None };
    let Console { signed_in, .. } = console;
    (step.session == signed_in.session.id && step.user == signed_in.user.id).then_some(step)
}
