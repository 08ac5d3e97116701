//! The table of users: its columns and its cells.

use super::list_cell::list_cell;
use assent_model::group::GroupName;
use assent_model::user::profile::Profile;
use assent_model::user::{ConsoleRole, User};

/// The columns of a file of users, as an export writes them.
pub const USER_COLUMNS: [&str; 27] = [
    "id",
    "name",
    "email",
    "email_verified",
    "display_name",
    "given_name",
    "family_name",
    "middle_name",
    "nickname",
    "picture",
    "profile",
    "website",
    "gender",
    "birthdate",
    "zoneinfo",
    "locale",
    "phone_number",
    "phone_number_verified",
    "formatted_address",
    "street_address",
    "locality",
    "region",
    "postal_code",
    "country",
    "console_role",
    "state",
    "groups",
];

/// Returns the texts of a profile, with their columns.
pub(super) fn texts(profile: &Profile) -> [(&'static str, &'static str, Option<&String>); 13] {
    profile.texts().map(|(member, text)| match member {
        // The column `name` is the name at the sign-in.
        "name" => ("display_name", member, text),
        _ => (member, member, text),
    })
}

/// Returns the members of the address, with their columns.
pub(super) fn address_texts(
    profile: &Profile,
) -> [(&'static str, &'static str, Option<&String>); 6] {
    profile
        .address
        .members()
        .map(|(member, text)| match member {
            "formatted" => ("formatted_address", member, text),
            _ => (member, member, text),
        })
}

/// Returns a user with the names of the user's groups as a row of a file, in the order of [`USER_COLUMNS`].
pub fn user_cells(user: &User, groups: &[GroupName]) -> Vec<String> {
    let text = |column: &str| {
        let mut texts = texts(&user.profile)
            .into_iter()
            .chain(address_texts(&user.profile));
        texts
            .find(|(known, ..)| *known == column)
            .and_then(|(.., text)| text.cloned())
            .unwrap_or_default()
    };
    let cell = |column: &&str| match *column {
        "id" => user.id.to_string(),
        "name" => user.name.to_string(),
        "email" => user
            .email
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        "email_verified" => user.profile.email_verified.to_string(),
        "phone_number_verified" => user.profile.phone_number_verified.to_string(),
        "console_role" => user
            .console_role
            .map(ConsoleRole::as_str)
            .unwrap_or_default()
            .to_owned(),
        "state" => user.state.as_str().to_owned(),
        "groups" => list_cell(groups.iter().map(GroupName::as_str)),
        column => text(column),
    };
    USER_COLUMNS.iter().map(cell).collect()
}
