//! The summary of a protected action, in English: the text that the administrator's device shows and signs.

use super::action::{
    Authenticators, ImportedTable, ProtectedAccountChange, ProtectedAction, ProtectedUserChange,
};
use super::application_summary;
use super::escape::{quoted, shortened};
use crate::domain::Host;
use crate::domain::admin::{AdminError, Result, account, registered, user};
use crate::domain::operations::plugins::previous_known_by;
use assent_model::action_approval::{Mentioned, Words};
use assent_model::id::{AccountId, Did};
use assent_model::user::User;

/// Renders the summary of an action with the current names.
///
/// # Errors
/// [`AdminError::NotFound`] if the subject of the action does not exist.
pub async fn summarize(host: &Host, action: &ProtectedAction) -> Result<Words> {
    Ok(match action {
        ProtectedAction::CreateUser { name, console_role } => Words {
            text: match console_role {
                Some(role) => format!("Give {name} the role {} in the console", role.as_str()),
                None => format!("Take the role in the console from {name}"),
            },
            mentions: Some(Mentioned::nobody(name)),
        },
        ProtectedAction::UpdateUser { user: id, changes } => {
            let user = user(host, *id).await?;
            let sentences: Vec<String> = changes
                .iter()
                .map(|change| user_change(&user, change))
                .collect();
            of_user(sentences.join("; "), &user)
        }
        ProtectedAction::DeleteUser(id) => {
            let user = user(host, *id).await?;
            of_user(format!("Delete the user {}", user.name), &user)
        }
        ProtectedAction::EraseUser(id) => {
            let user = user(host, *id).await?;
            of_user(format!("Erase who the user {} was", user.name), &user)
        }
        ProtectedAction::EnrolDevice(id) => {
            let user = user(host, *id).await?;
            of_user(
                format!("Let another device approve as {}", user.name),
                &user,
            )
        }
        ProtectedAction::RevokeDevice(id) => {
            let device = host.store.device(*id).await?;
            let device = device.ok_or(AdminError::NotFound("device"))?;
            let owner = user(host, device.user_id).await?;
            let text = format!(
                "Remove the device {} of {}, who has a role in the console",
                quoted(&device.name),
                owner.name
            );
            of_user(text, &owner)
        }
        ProtectedAction::SetExternalAuthenticator {
            user: id,
            channel,
            address,
            replaced,
        } => {
            let user = user(host, *id).await?;
            let replaced = replaced.as_ref().map_or_else(String::new, |known| {
                format!(", in place of {}", quoted(known))
            });
            let text = format!(
                "Let whoever is {} at the channel {} approve as {}{replaced}",
                quoted(address),
                quoted(channel),
                user.name
            );
            of_user(text, &user)
        }
        ProtectedAction::CreateAccount {
            user: id,
            application,
            name,
        } => {
            let user = user(host, *id).await?;
            let application = registered(host, application).await?;
            let text = format!(
                "Let {} be called {} in the application {}",
                user.name,
                quoted(name),
                quoted(application.name())
            );
            of_user(text, &user)
        }
        ProtectedAction::UpdateAccount {
            account: id,
            changes,
        } => of_account(host, *id, changes).await?,
        ProtectedAction::DeleteAccount(id) => {
            let account = account(host, *id).await?;
            let user = user(host, account.user_id).await?;
            let application = registered(host, &account.application_id).await?;
            let text = format!(
                "Delete the account {} of {} in the application {}",
                quoted(&account.name),
                user.name,
                quoted(application.name())
            );
            of_user(text, &user)
        }
        ProtectedAction::CreateApplication(client) => {
            Words::of_nobody(application_summary::new_client(client))
        }
        ProtectedAction::UpdateClient {
            application,
            before,
            after,
            members,
        } => Words::of_nobody(application_summary::updated_client(
            application,
            before,
            after,
            members,
        )),
        ProtectedAction::UpdateServiceProvider {
            before,
            after,
            members,
            ..
        } => Words::of_nobody(application_summary::updated_service_provider(
            before, after, members,
        )),
        ProtectedAction::ApplyMetadata {
            before,
            after,
            members,
            ..
        } => Words::of_nobody(application_summary::applied_metadata(
            before, after, members,
        )),
        ProtectedAction::DeleteApplication(id) => {
            Words::of_nobody(format!("Delete the application {}", named(host, id).await?))
        }
        ProtectedAction::RotateClientSecret(id) => Words::of_nobody(format!(
            "Make a new client secret for {}",
            named(host, id).await?
        )),
        ProtectedAction::IssueCertificate(id) => Words::of_nobody(format!(
            "Make another certificate, which is to sign for {}",
            named(host, id).await?
        )),
        ProtectedAction::ActivateCertificate {
            application,
            sha256,
        } => Words::of_nobody(format!(
            "Let the certificate with the SHA-256 digest {sha256} sign for {} from this moment",
            named(host, application).await?
        )),
        ProtectedAction::WithdrawCertificate {
            application,
            sha256,
        } => Words::of_nobody(format!(
            "Withdraw the certificate with the SHA-256 digest {sha256} of {}",
            named(host, application).await?
        )),
        ProtectedAction::RotateSigningKeys { now, .. } => Words::of_nobody(
            match now {
                true => "Let a new key sign ID tokens, from this moment",
                false => "Let a new key sign ID tokens",
            }
            .to_owned(),
        ),
        ProtectedAction::RevokeSigningKey { kid } => {
            Words::of_nobody(format!("Revoke the signing key {}", shortened(kid)))
        }
        ProtectedAction::ReloadPlugins => Words::of_nobody("Exchange the plugins".to_owned()),
        ProtectedAction::RollBackPlugins { digest } => {
            let previous = previous_known_by(host, Some(digest))?.in_words();
            Words::of_nobody(format!(
                "Put the plugins back that were there before the last exchange: {previous}"
            ))
        }
        ProtectedAction::TryComponent { plugin, component } => Words::of_nobody(format!(
            "Try a new component as the plugin {}, with the SHA-256 digest {component}",
            quoted(plugin)
        )),
        ProtectedAction::ImportTable { application, table } => {
            let what = match application {
                Some(id) => format!(
                    "{} of the application {}",
                    counted(table.rows, "account"),
                    named(host, id).await?
                ),
                None => counted(table.rows, "user"),
            };
            Words::of_nobody(import(&what, table))
        }
    })
}

fn import(what: &str, table: &ImportedTable) -> String {
    // Applications may know a user by the name or the address.
    let noted = |count: u64, what: &str| match count {
        0 => String::new(),
        count => format!(", {count} with another {what}"),
    };
    format!(
        "Import a table of {what}: {} new, {} changed{}{}",
        table.created,
        table.changed,
        noted(table.renamed, "name"),
        noted(table.readdressed, "e-mail address")
    )
}

/// The name of an application, in quotes.
async fn named(host: &Host, id: &Did) -> Result<String> {
    Ok(quoted(registered(host, id).await?.name()))
}

/// A summary about this user.
fn of_user(text: String, user: &User) -> Words {
    Words {
        text,
        mentions: Some(Mentioned::User(user.id)),
    }
}

fn user_change(user: &User, change: &ProtectedUserChange) -> String {
    let name = &user.name;
    match change {
        ProtectedUserChange::Terminate => format!("Close the user {name} for good"),
        ProtectedUserChange::Name(new) => format!("Let {name} sign in as {new}"),
        ProtectedUserChange::Email(Some(email)) => {
            format!("Change the e-mail address of {name} to {email}")
        }
        ProtectedUserChange::Email(None) => {
            let known = user.email.as_ref().map(ToString::to_string);
            format!(
                "Take the e-mail address {} from {name}",
                known.unwrap_or_default()
            )
        }
        ProtectedUserChange::RemoveRole => {
            format!("Take the role in the console from {name}")
        }
        ProtectedUserChange::GrantRole {
            role,
            authenticators: Authenticators { devices, external },
        } => {
            let vendors = match *external {
                0 => String::new(),
                count => format!(" and {}", counted(count, "vendor's authenticator")),
            };
            format!(
                "Give {name} the role {} in the console; {name} approves with {}{vendors}",
                role.as_str(),
                counted(*devices, "device")
            )
        }
    }
}

async fn of_account(
    host: &Host,
    id: AccountId,
    changes: &[ProtectedAccountChange],
) -> Result<Words> {
    let account = account(host, id).await?;
    let user = user(host, account.user_id).await?;
    let application = registered(host, &account.application_id).await?;
    let (name, before, application) = (
        &user.name,
        quoted(&account.name),
        quoted(application.name()),
    );
    let sentence = |change: &ProtectedAccountChange| match change {
        ProtectedAccountChange::Name(new) => format!(
            "Let {name} be called {} in the application {application}, in place of {before}",
            quoted(new)
        ),
        ProtectedAccountChange::Terminate => format!(
            "Close the account {before} of {name} in the application {application} for good"
        ),
    };
    let sentences: Vec<String> = changes.iter().map(sentence).collect();
    Ok(of_user(sentences.join("; "), &user))
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 {
        format!("1 {what}")
    } else {
        format!("{count} {what}s")
    }
}
