//! Times, places, events and claims in plain words.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use crate::domain::protected_actions::{ActionTarget, PastAction};
use crate::domain::{Services, browser_words};
use crate::messages::Message;
use assent_model::administration::ProtectedActionKind;
use assent_model::audit::{Actor, Entry, Event, Origin};
use assent_model::clock::Timestamp;
use assent_model::id::DeviceId;
use assent_model::language::Language;
use assent_model::user::User;
use assent_model::user::profile::Address;

/// A value on a page with data about a user.
#[derive(Clone, Debug)]
pub enum FactValue {
    /// A text.
    Words(Message),
    /// A time, which the page's script shows in local time.
    Moment(PageTime),
}

/// A time on a page. Without a script it is in UTC, because the server does not know the browser's time zone.
#[derive(Clone, Debug)]
pub struct PageTime {
    /// The time (RFC 3339).
    pub iso: String,
    /// The time in words.
    pub words: Message,
}

impl PageTime {
    pub(super) fn new(at: Timestamp) -> Self {
        let moment = jiff::Timestamp::from_second(at.seconds()).unwrap_or_default();
        let time = moment.to_zoned(jiff::tz::TimeZone::UTC).time();
        let time = format!("{:02}:{:02}", time.hour(), time.minute());
        let words = Message::new("portal-time")
            .message("date", Message::day(at))
            .text("time", time);
        Self {
            iso: moment.to_string(),
            words,
        }
    }
}

/// Returns the location of a browser, if it is known.
pub(super) fn place_of(services: &Services, from: &Origin, language: Language) -> Option<Message> {
    from.address
        .map(|address| browser_words::place(services, Some(address), language))
}

/// Returns the browser, if it is known.
pub(super) fn browser_of(from: &Origin) -> Option<Message> {
    from.browser.as_deref().map(browser_words::stored_browser)
}

/// Returns the origin of an event, if the user may see it. Users see the origin of their own actions, and of the
/// browser that requested a sign-in in their name. The origins of administrators and other users are not shown.
pub(super) fn origin_for(user: &User, entry: &Entry) -> Option<Origin> {
    let own = match &entry.actor {
        Actor::Server | Actor::Device(_) => true,
        Actor::User(actor) => *actor == user.id,
        Actor::AdminToken(_) | Actor::Application(_) | Actor::Channel(_) => {
            entry.event == Event::SignInRequested
        }
    };
    let text = |name: &str| entry.personal.get(name).and_then(Value::as_str);
    own.then(|| Origin {
        address: text("ip_address").and_then(|address| address.parse().ok()),
        browser: text("browser").map(str::to_owned),
    })
}

/// Returns the actor, unless it is the user in a browser. A device has its name among `devices`, which are the user's
/// own.
pub(super) fn actor_message(
    user: &User,
    entry: &Entry,
    application: &Message,
    devices: &HashMap<DeviceId, String>,
) -> Option<Message> {
    match &entry.actor {
        // An application that acts through the browser is no actor of its own.
        Actor::Application(_) | Actor::Server if entry.event == Event::SignInRequested => None,
        Actor::AdminToken(_) => Some(Message::new("activity-by-administrator")),
        // The operator of the server created the link.
        Actor::Server if entry.event == Event::EnrolmentLinkCreated => {
            Some(Message::new("activity-by-administrator"))
        }
        Actor::Device(id) => Some(match devices.get(id) {
            Some(name) => Message::new("activity-by-device").text("device", name.as_str()),
            None => Message::new("activity-by-removed-device"),
        }),
        Actor::Application(_) => Some(
            Message::new("activity-by-application").message("application", application.clone()),
        ),
        Actor::Channel(_) => Some(Message::new("activity-by-channel")),
        Actor::User(actor) if *actor != user.id => Some(Message::new("activity-by-other-user")),
        Actor::User(_) | Actor::Server => None,
    }
}

/// Returns the description of an event.
pub(super) fn activity_message(
    entry: &Entry,
    action: Option<&PastAction>,
    application: &Message,
) -> Message {
    let application = || application.clone();
    let own = action.and_then(|action| protected_action(entry.event, action));
    if let Some(message) = own.or_else(|| caller_check(entry)) {
        return message;
    }
    match entry.event {
        Event::SignInRequested
        | Event::SignInApproved
        | Event::SignInDenied
        | Event::SignInReported
        | Event::NumberMatchFailed
        | Event::SignInRejected
        | Event::SignInCancelled
        | Event::SignInExpired
        | Event::SignedIn => sign_in_activity(entry, application()),
        Event::DeviceEnrolled
        | Event::DeviceRenamed
        | Event::DeviceRevoked
        | Event::PasskeyAdded
        | Event::PasskeyRemoved
        | Event::PasskeySignInAllowed
        | Event::PasskeySignInStopped
        | Event::PasskeyCloneSuspected => device_activity(entry),
        Event::UserLifecycleChanged => user_state(entry),
        Event::GroupCreated
        | Event::GroupUpdated
        | Event::GroupDeleted
        | Event::GroupMemberAdded
        | Event::GroupMemberRemoved
        | Event::GroupMembersExported => group_activity(entry),
        Event::AccountCreated
        | Event::AccountUpdated
        | Event::AccountLifecycleChanged
        | Event::AccountsExported
        | Event::AccountsImported
        | Event::AccountDeleted => account_activity(entry, application()),
        Event::AccessAssigned
        | Event::AccessRemoved
        | Event::ConsentGranted
        | Event::ConsentWithdrawn
        | Event::BackchannelStopped
        | Event::BackchannelPermitted
        | Event::RefreshTokenReused => access_activity(entry.event, application()),
        Event::ApplicationCreated
        | Event::ApplicationRegistered
        | Event::BackchannelResultAbandoned
        | Event::ApplicationDeleted
        | Event::MetadataApplied
        | Event::ClientSecretRotated
        | Event::ClientSecretCreated
        | Event::ClientSecretDeleted
        | Event::LogoSet
        | Event::LogoRemoved
        | Event::CertificatePublished
        | Event::CertificateActivated
        | Event::CertificateWithdrawn
        | Event::ApplicationUpdated => application_activity(entry, application()),
        Event::ClaimsCompared => {
            Message::new("activity-claims-compared").message("application", application())
        }
        Event::ReportSettled
        | Event::AccessExported
        | Event::SignedOut
        | Event::SessionEnded
        | Event::CooldownStarted
        | Event::CooldownLifted
        | Event::EnrolmentLinkCreated
        | Event::InvitationSent
        | Event::InvitationFailed
        | Event::InvitationResent
        | Event::InvitationWithdrawn
        | Event::MailTested
        | Event::RecoveryCodesCreated
        | Event::RecoveryCodeUsed
        | Event::RecoveryFailed
        | Event::UserCreated
        | Event::UserUpdated
        | Event::UserErased
        | Event::UserDeleted
        | Event::UsersExported
        | Event::UsersImported
        | Event::ExternalAuthenticatorSet
        | Event::ExternalAuthenticatorRemoved
        | Event::PluginsRolledBack
        | Event::PluginsReloaded
        | Event::SigningKeyPublished
        | Event::SigningKeyActivated
        | Event::SigningKeyRevoked
        | Event::SealingKeyCreated
        | Event::SealingKeyDeleted
        | Event::TokensRevoked
        | Event::DatabaseRestored
        | Event::TestSignInStarted
        | Event::TestSignInEnded
        | Event::AdminTokenCreated
        | Event::RegistrationTokenCreated
        | Event::RegistrationTokenDeleted
        | Event::DetailsTypeRegistered
        | Event::DetailsTypeDeleted => plain_activity(entry.event),
    }
}

/// Describes an event of a sign-in that [`activity_message`] lists.
fn sign_in_activity(entry: &Entry, application: Message) -> Message {
    let is_passkey = entry.detail.get("method").and_then(Value::as_str) == Some("passkey");
    match entry.event {
        Event::SignInApproved if is_passkey => {
            Message::new("activity-passkey-approved").message("application", application)
        }
        Event::SignInApproved => {
            Message::new("activity-approved").message("application", application)
        }
        Event::SignInDenied => Message::new("activity-denied").message("application", application),
        Event::SignInReported => {
            Message::new("activity-reported").message("application", application)
        }
        Event::NumberMatchFailed => {
            Message::new("activity-number-mismatch").message("application", application)
        }
        Event::SignInRejected => {
            let reference = entry.detail.get("reference").and_then(Value::as_str);
            Message::new("activity-rejected")
                .message("application", application)
                .text("reference", reference.unwrap_or_default())
        }
        Event::SignInCancelled => {
            Message::new("activity-cancelled").message("application", application)
        }
        Event::SignInExpired => {
            Message::new("activity-expired").message("application", application)
        }
        Event::SignedIn => Message::new("activity-signed-in").message("application", application),
        _ => Message::new("activity-requested").message("application", application),
    }
}

/// Describes an event of a user's access that [`activity_message`] lists.
fn access_activity(event: Event, application: Message) -> Message {
    match event {
        Event::AccessAssigned => {
            Message::new("activity-access-assigned").message("application", application)
        }
        Event::AccessRemoved => {
            Message::new("activity-access-removed").message("application", application)
        }
        Event::ConsentGranted => {
            Message::new("activity-consent-granted").message("application", application)
        }
        Event::ConsentWithdrawn => {
            Message::new("activity-consent-withdrawn").message("application", application)
        }
        Event::BackchannelStopped => {
            Message::new("activity-backchannel-stopped").message("application", application)
        }
        Event::BackchannelPermitted => {
            Message::new("activity-backchannel-permitted").message("application", application)
        }
        _ => Message::new("activity-refresh-token-reused").message("application", application),
    }
}

/// Describes an event of a device that [`activity_message`] lists.
fn device_activity(entry: &Entry) -> Message {
    let personal = |name: &str| {
        let value = entry.personal.get(name).and_then(Value::as_str);
        value.unwrap_or_default()
    };
    match entry.event {
        Event::DeviceEnrolled => {
            Message::new("activity-device-enrolled").text("device", personal("name"))
        }
        Event::DeviceRenamed => {
            Message::new("activity-device-renamed").text("device", personal("new_name"))
        }
        Event::PasskeyAdded => {
            Message::new("activity-passkey-added").text("device", personal("name"))
        }
        Event::PasskeyRemoved => {
            Message::new("activity-passkey-removed").text("device", personal("name"))
        }
        Event::PasskeySignInAllowed => {
            Message::new("activity-passkey-sign-in-allowed").text("device", personal("name"))
        }
        Event::PasskeySignInStopped => {
            Message::new("activity-passkey-sign-in-stopped").text("device", personal("name"))
        }
        Event::PasskeyCloneSuspected => {
            Message::new("activity-passkey-clone-suspected").text("device", personal("name"))
        }
        _ => Message::new("activity-device-revoked").text("device", personal("name")),
    }
}

/// Describes an event of a group that [`activity_message`] lists.
fn group_activity(entry: &Entry) -> Message {
    let name = entry.detail.get("group_name").and_then(Value::as_str);
    let name = name.unwrap_or_default();
    match entry.event {
        Event::GroupCreated => Message::new("activity-group-created").text("group", name),
        Event::GroupUpdated => Message::new("activity-group-updated").text("group", name),
        Event::GroupDeleted => Message::new("activity-group-deleted").text("group", name),
        Event::GroupMemberAdded => Message::new("activity-group-member-added").text("group", name),
        Event::GroupMemberRemoved => {
            Message::new("activity-group-member-removed").text("group", name)
        }
        // GroupMembersExported; a test checks that each event has its own words.
        _ => Message::new("activity-group-members-exported").text("group", name),
    }
}

/// Describes an event of an account that [`activity_message`] lists.
fn account_activity(entry: &Entry, application: Message) -> Message {
    match entry.event {
        Event::AccountCreated => {
            Message::new("activity-account-created").message("application", application)
        }
        Event::AccountUpdated => {
            Message::new("activity-account-updated").message("application", application)
        }
        Event::AccountLifecycleChanged => account_state(entry, application),
        Event::AccountsExported => {
            Message::new("activity-accounts-exported").message("application", application)
        }
        Event::AccountsImported => {
            Message::new("activity-accounts-imported").message("application", application)
        }
        // AccountDeleted; a test checks that each event has its own words.
        _ => Message::new("activity-account-deleted").message("application", application),
    }
}

/// Returns the message of an event without values.
const fn plain_activity(event: Event) -> Message {
    match event {
        Event::ReportSettled => Message::new("activity-report-settled"),
        Event::AccessExported => Message::new("activity-access-exported"),
        Event::SignedOut => Message::new("activity-signed-out"),
        Event::SessionEnded => Message::new("activity-session-ended"),
        Event::CooldownStarted => Message::new("activity-cooldown-started"),
        Event::CooldownLifted => Message::new("activity-cooldown-lifted"),
        Event::EnrolmentLinkCreated => Message::new("activity-enrolment-link"),
        Event::InvitationSent => Message::new("activity-invitation-sent"),
        Event::InvitationFailed => Message::new("activity-invitation-failed"),
        Event::InvitationResent => Message::new("activity-invitation-resent"),
        Event::InvitationWithdrawn => Message::new("activity-invitation-withdrawn"),
        Event::MailTested => Message::new("activity-mail-tested"),
        Event::RecoveryCodesCreated => Message::new("activity-recovery-codes"),
        Event::RecoveryCodeUsed => Message::new("activity-recovery-used"),
        Event::RecoveryFailed => Message::new("activity-recovery-failed"),
        Event::UserCreated => Message::new("activity-user-created"),
        Event::UserUpdated => Message::new("activity-user-updated"),
        Event::UserErased => Message::new("activity-user-erased"),
        Event::UserDeleted => Message::new("activity-user-deleted"),
        Event::UsersExported => Message::new("activity-users-exported"),
        Event::UsersImported => Message::new("activity-users-imported"),
        Event::ExternalAuthenticatorSet => Message::new("activity-external-authenticator-set"),
        Event::ExternalAuthenticatorRemoved => {
            Message::new("activity-external-authenticator-removed")
        }
        Event::PluginsRolledBack => Message::new("activity-plugins-rolled-back"),
        Event::PluginsReloaded => Message::new("activity-plugins-reloaded"),
        Event::SigningKeyPublished => Message::new("activity-key-published"),
        Event::SigningKeyActivated => Message::new("activity-key-activated"),
        Event::SealingKeyCreated => Message::new("activity-sealing-key-created"),
        Event::SealingKeyDeleted => Message::new("activity-sealing-key-deleted"),
        Event::TokensRevoked => Message::new("activity-tokens-revoked"),
        Event::DatabaseRestored => Message::new("activity-database-restored"),
        Event::TestSignInStarted => Message::new("activity-test-sign-in-started"),
        Event::TestSignInEnded => Message::new("activity-test-sign-in-ended"),
        Event::AdminTokenCreated => Message::new("activity-admin-token-created"),
        Event::RegistrationTokenCreated => Message::new("activity-registration-token-created"),
        Event::RegistrationTokenDeleted => Message::new("activity-registration-token-deleted"),
        Event::DetailsTypeRegistered => Message::new("activity-details-type-registered"),
        Event::DetailsTypeDeleted => Message::new("activity-details-type-deleted"),
        _ => Message::new("activity-key-revoked"),
    }
}

/// Describes an event of an application or its certificates that [`activity_message`] lists.
fn application_activity(entry: &Entry, application: Message) -> Message {
    match entry.event {
        Event::ApplicationCreated => {
            Message::new("activity-application-created").message("application", application)
        }
        Event::ApplicationRegistered => {
            Message::new("activity-application-registered").message("application", application)
        }
        Event::BackchannelResultAbandoned => Message::new("activity-backchannel-result-abandoned")
            .message("application", application),
        Event::ApplicationDeleted => {
            Message::new("activity-application-deleted").message("application", application)
        }
        Event::MetadataApplied => {
            Message::new("activity-metadata-applied").message("application", application)
        }
        Event::ClientSecretRotated => {
            Message::new("activity-secret-rotated").message("application", application)
        }
        Event::ClientSecretCreated => {
            Message::new("activity-secret-created").message("application", application)
        }
        Event::ClientSecretDeleted => {
            Message::new("activity-secret-deleted").message("application", application)
        }
        Event::LogoSet => Message::new("activity-logo-set").message("application", application),
        Event::LogoRemoved => {
            Message::new("activity-logo-removed").message("application", application)
        }
        Event::CertificatePublished => {
            Message::new("activity-certificate-published").message("application", application)
        }
        Event::CertificateActivated => {
            Message::new("activity-certificate-activated").message("application", application)
        }
        Event::CertificateWithdrawn => {
            Message::new("activity-certificate-withdrawn").message("application", application)
        }
        // ApplicationUpdated; a test checks that each event has its own words.
        _ => Message::new("activity-application-updated").message("application", application),
    }
}

/// Describes the event of the question whether the user is on the phone. Returns `None` for an entry about another one.
fn caller_check(entry: &Entry) -> Option<Message> {
    entry.detail.get("caller_check")?;
    Some(match entry.event {
        Event::SignInRequested => Message::new("activity-caller-check-requested"),
        Event::SignInApproved => Message::new("activity-caller-check-approved"),
        Event::SignInDenied => Message::new("activity-caller-check-denied"),
        Event::SignInReported => Message::new("activity-caller-check-reported"),
        Event::NumberMatchFailed => Message::new("activity-caller-check-number-mismatch"),
        Event::SignInCancelled | Event::SignInExpired => {
            Message::new("activity-caller-check-ended")
        }
        _ => return None,
    })
}

/// Describes the event of a protected action in the console that needed an approval on the device.
fn protected_action(event: Event, action: &PastAction) -> Option<Message> {
    let kind = action_kind(action.kind);
    let action = match &action.target {
        ActionTarget::None => kind,
        ActionTarget::Named(name) => Message::new("app-action-target")
            .message("action", kind)
            .text("target", name.as_str()),
        ActionTarget::Gone => Message::new("app-action-erased").message("action", kind),
    };
    Some(match event {
        Event::SignInRequested => {
            Message::new("activity-action-requested").message("action", action)
        }
        Event::SignInApproved => Message::new("activity-action-approved").message("action", action),
        Event::SignInDenied => Message::new("activity-action-denied").message("action", action),
        Event::SignInReported => Message::new("activity-action-reported").message("action", action),
        Event::NumberMatchFailed => {
            Message::new("activity-action-number-mismatch").message("action", action)
        }
        _ => return None,
    })
}

fn action_kind(kind: ProtectedActionKind) -> Message {
    use ProtectedActionKind as Kind;
    match kind {
        Kind::DeleteUser => Message::new("app-action-delete-user"),
        Kind::EraseUser => Message::new("app-action-erase-user"),
        Kind::UpdateUser => Message::new("app-action-update-user"),
        Kind::ImportTable => Message::new("app-action-import-table"),
        Kind::EnrolDevice => Message::new("app-action-enrol-device"),
        Kind::SetExternalAuthenticator => Message::new("app-action-set-external-authenticator"),
        Kind::CreateAccount => Message::new("app-action-create-account"),
        Kind::UpdateAccount => Message::new("app-action-update-account"),
        Kind::DeleteAccount => Message::new("app-action-delete-account"),
        Kind::UpdateGroup => Message::new("app-action-update-group"),
        Kind::DeleteGroup => Message::new("app-action-delete-group"),
        Kind::ChangeAccess => Message::new("app-action-change-access"),
        Kind::RevokeDevice => Message::new("app-action-revoke-device"),
        Kind::SettleReport => Message::new("app-action-settle-report"),
        Kind::CreateRecoveryCodes => Message::new("app-action-create-recovery-codes"),
        Kind::DeleteApplication => Message::new("app-action-delete-application"),
        Kind::GrantAdminScopes => Message::new("app-action-grant-admin-scopes"),
        Kind::CreateRegistrationToken => Message::new("app-action-create-registration-token"),
        Kind::RegisterDetailsType => Message::new("app-action-register-details-type"),
        Kind::UpdateApplication => Message::new("app-action-update-application"),
        Kind::ApplyMetadata => Message::new("app-action-apply-metadata"),
        Kind::RotateClientSecret => Message::new("app-action-rotate-client-secret"),
        Kind::DeleteClientSecret => Message::new("app-action-delete-client-secret"),
        Kind::RotateKey => Message::new("app-action-rotate-key"),
        Kind::RevokeKey => Message::new("app-action-revoke-key"),
        Kind::ReloadPlugins => Message::new("app-action-reload-plugins"),
        Kind::RollBackPlugins => Message::new("app-action-roll-back-plugins"),
        Kind::TryComponent => Message::new("app-action-try-component"),
        Kind::ApplyManifest => Message::new("app-action-apply-manifest"),
    }
}

fn user_state(entry: &Entry) -> Message {
    match after(entry) {
        Some("suspended") => Message::new("activity-user-suspended"),
        Some("terminated") => Message::new("activity-user-terminated"),
        _ => Message::new("activity-user-active"),
    }
}

fn account_state(entry: &Entry, application: Message) -> Message {
    match after(entry) {
        Some("suspended") => {
            Message::new("activity-account-suspended").message("application", application)
        }
        Some("terminated") => {
            Message::new("activity-account-terminated").message("application", application)
        }
        _ => Message::new("activity-account-active").message("application", application),
    }
}

/// Returns the new state in an entry about a change of state.
fn after(entry: &Entry) -> Option<&str> {
    entry.detail.get("after").and_then(Value::as_str)
}

/// The label of a claim or attribute: in words for standard claims, otherwise its name.
pub(super) fn claim(name: &str) -> Message {
    match name {
        "sub" => Message::new("claim-sub"),
        "name" => Message::new("claim-name"),
        "given_name" => Message::new("claim-given-name"),
        "family_name" => Message::new("claim-family-name"),
        "middle_name" => Message::new("claim-middle-name"),
        "nickname" => Message::new("claim-nickname"),
        "picture" => Message::new("claim-picture"),
        "profile" => Message::new("claim-profile"),
        "website" => Message::new("claim-website"),
        "gender" => Message::new("claim-gender"),
        "birthdate" => Message::new("claim-birthdate"),
        "zoneinfo" => Message::new("claim-zoneinfo"),
        "locale" => Message::new("claim-locale"),
        "preferred_username" => Message::new("claim-preferred-username"),
        "updated_at" => Message::new("claim-updated-at"),
        "upn" => Message::new("claim-upn"),
        "user_did" => Message::new("claim-user-did"),
        "user_short_code" => Message::new("claim-user-short-code"),
        "email" => Message::new("claim-email"),
        "email_verified" => Message::new("claim-email-verified"),
        "phone_number" => Message::new("claim-phone-number"),
        "phone_number_verified" => Message::new("claim-phone-number-verified"),
        "address" => Message::new("claim-address"),
        "account" => Message::new("claim-account"),
        "groups" => Message::new("claim-groups"),
        other => Message::new("claim-other").text("name", other),
    }
}

/// The values of a claim or attribute on a page: times for the browser's script, and objects with one member for each
/// line.
pub(super) fn fact_values(name: &str, value: &Value) -> Vec<FactValue> {
    let text = |text: String| FactValue::Words(Message::new("claim-value").text("value", text));
    match value {
        Value::Number(seconds) if is_moment(name) => {
            let seconds = Timestamp::from_seconds(seconds.as_i64().unwrap_or_default());
            vec![FactValue::Moment(PageTime::new(seconds))]
        }
        Value::Object(_) if name == "address" => {
            // A plugin may have replaced it by a value of another type.
            let lines = Address::deserialize(value).map(|address| address.in_lines().join(", "));
            vec![text(lines.unwrap_or_else(|_| value.to_string()))]
        }
        Value::Object(members) => members
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| FactValue::Words(member(name, value)))
            .collect(),
        other => vec![FactValue::Words(words(other))],
    }
}

/// Whether the numbers of a claim are seconds since 1970.
fn is_moment(name: &str) -> bool {
    name == "auth_time" || name.ends_with("_at")
}

/// A value without members, in words.
fn words(value: &Value) -> Message {
    let text = match value {
        Value::Bool(true) => return Message::new("claim-yes"),
        Value::Bool(false) => return Message::new("claim-no"),
        Value::Array(values) if values.is_empty() => return Message::new("claim-nothing"),
        Value::Array(values) if values.iter().all(Value::is_string) => {
            let texts: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            texts.join(", ")
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Message::new("claim-value").text("value", text)
}

fn member(name: &str, value: &Value) -> Message {
    let label = match name {
        "roles" => Message::new("claim-roles"),
        "short_code" => Message::new("claim-user-short-code"),
        other => claim(other),
    };
    Message::new("claim-member")
        .message("name", label)
        .message("value", words(value))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use assent_model::audit::AuditContext;
    use assent_model::entropy::SystemEntropy;

    use super::*;

    #[test]
    fn an_object_is_shown_as_its_members_and_an_empty_list_as_none() {
        let account = serde_json::json!({"name": "ada", "nickname": null, "roles": ["reader", "editor"], "teams": []});
        let values = fact_values("account", &account);
        let lines: Vec<String> = values
            .iter()
            .map(|value| match value {
                FactValue::Words(words) => words.plain(Language::English),
                FactValue::Moment(moment) => moment.iso.clone(),
            })
            .collect();
        assert_eq!(lines, ["Name: ada", "Roles: reader, editor", "teams: None"]);
    }

    #[test]
    fn a_replaced_invitation_link_is_named_as_replaced() {
        let by = AuditContext::new(Actor::Server, Origin::default());
        let at = Timestamp::from_millis(0);
        let entry = Entry::new(Event::InvitationResent, &by, at, &SystemEntropy);
        let words = activity_message(&entry, None, &Message::new("claim-name"));
        assert_eq!(
            words.plain(Language::English),
            "Your invitation link was replaced, and the earlier link is no longer valid"
        );
        assert_eq!(
            words.plain(Language::German),
            "Der Link Ihrer Einladung wurde ersetzt, der frühere Link gilt nicht mehr"
        );
    }

    #[test]
    fn each_event_has_its_own_message() {
        let by = AuditContext::new(Actor::Server, Origin::default());
        let mut seen = BTreeSet::new();
        for event in Event::ALL {
            let entry = Entry::new(event, &by, Timestamp::from_millis(0), &SystemEntropy);
            let words = activity_message(&entry, None, &Message::new("claim-name"));
            assert!(seen.insert(format!("{words:?}")), "{event:?}: {words:?}");
        }
    }
}
