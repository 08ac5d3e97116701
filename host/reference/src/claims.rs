//! Scopes and their claims.

use assent_model::scope::Scope;

use crate::markdown::{code, heading, table};

const INTRODUCTION: &str = "\
An application requests scopes, and each scope grants a set of claims (OpenID Connect Core section 5.4). The claims are
in the ID token and at UserInfo; with `slim_id_token` those of the scopes are only at UserInfo. An application can
request a single claim with the parameter `claims` if it may have the claim's scope.

";

/// The type and the content of each claim.
const CONTENTS: [(&str, &str, &str); 25] = [
    (
        "sub",
        "text",
        "the user. With `subject_type` `pairwise` it differs in each sector",
    ),
    ("name", "text", "the full name"),
    ("given_name", "text", "the first name"),
    ("family_name", "text", "the last name"),
    ("middle_name", "text", "the middle name"),
    ("nickname", "text", "the casual name"),
    (
        "preferred_username",
        "text",
        "the login name, such as `ada`",
    ),
    ("picture", "text", "the URL of a picture of the user"),
    ("profile", "text", "the URL of a page about the user"),
    ("website", "text", "the URL of the user's own page"),
    ("gender", "text", "the gender, such as `female`"),
    (
        "birthdate",
        "text",
        "the date of birth, such as `1815-12-10`",
    ),
    ("zoneinfo", "text", "the time zone, such as `Europe/London`"),
    ("locale", "text", "the language, such as `en-GB`"),
    (
        "updated_at",
        "number",
        "the last change of the user, in seconds since 1970",
    ),
    (
        "upn",
        "text",
        "the name of the user's account in the application",
    ),
    (
        "user_did",
        "text",
        "the id of the user. Not with `subject_type` `pairwise`",
    ),
    (
        "user_short_code",
        "text",
        "the short code of the user's account in the application, such as `7KQ2M9T4VX`",
    ),
    (
        "account",
        "text",
        r#"the account as a text of JSON, such as `{"name": "ada", "roles": ["admin"], "short_code": "7KQ2M9T4VX"}`"#,
    ),
    ("email", "text", "the email address"),
    (
        "email_verified",
        "boolean",
        "whether the address was verified",
    ),
    (
        "phone_number",
        "text",
        "the phone number, such as `+44 20 7946 0000`",
    ),
    (
        "phone_number_verified",
        "boolean",
        "whether the number was verified",
    ),
    (
        "address",
        "object",
        "the postal address: `formatted`, `street_address`, `locality`, `region`, `postal_code`, `country`",
    ),
    (
        "groups",
        "list of texts",
        "the names of the user's groups that are assigned to the application",
    ),
];

const OTHERS: &str = "\
Each ID token also has `iss`, `sub`, `aud`, `iat`, `exp`, `auth_time`, `sid`, `acr` and `amr`, and `nonce`, `at_hash`
and `azp` where OpenID Connect demands them. [Authentication assurance](authentication-assurance.md) explains `acr`
and `amr`. The plugin `account-roles` writes the claim `account`. Claim mappers may write further claims; see
[Write a plugin](../developers/plugins.md).

A claim without a value is omitted, except an empty list of `groups`. Most values come from the profile of the user,
which an administrator can change.

";

/// Returns the page of the scopes and their claims.
///
/// # Errors
/// If `CONTENTS` lacks a claim, or has a claim that no scope grants.
pub(crate) fn page() -> anyhow::Result<String> {
    for (name, ..) in &CONTENTS {
        let is_known = *name == "sub" || Scope::of_claim(name).is_some();
        anyhow::ensure!(is_known, "no scope has the claim `{name}` of `CONTENTS`");
    }
    for claim in Scope::ALL.iter().flat_map(|scope| scope.claims()) {
        let is_described = CONTENTS.iter().any(|(name, ..)| name == claim);
        anyhow::ensure!(is_described, "`CONTENTS` has no claim `{claim}`");
    }
    let rows = Scope::ALL.into_iter().map(|scope| {
        let claims: Vec<String> = match scope {
            Scope::OpenId => vec![code("sub")],
            Scope::OfflineAccess => vec!["none: a refresh token".to_owned()],
            scope => scope.claims().iter().map(|claim| code(claim)).collect(),
        };
        let default = if Scope::DEFAULT.contains(&scope) {
            "yes"
        } else {
            "no"
        };
        [code(scope.as_str()), claims.join(", "), default.to_owned()]
    });
    let contents =
        CONTENTS.map(|(name, kind, content)| [code(name), kind.to_owned(), content.to_owned()]);
    Ok(heading("Claims and scopes", "host/model/src/scope.rs")
        + INTRODUCTION
        + &table(["Scope", "Claims", "Scope of a new application"], rows)
        + OTHERS
        + &table(["Claim", "Type", "Content"], contents))
}
