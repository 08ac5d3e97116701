//! Scopes and their claims.

use assent_model::scope::Scope;

use crate::markdown::{code, heading, table};

const INTRODUCTION: &str = "\
An application requests scopes, and each scope stands for claims (OpenID Connect Core section 5.4). The claims are in
the ID token and at UserInfo; with `slim_id_token` those of the scopes are only at UserInfo. An application can
request a single claim with the parameter `claims` if it may have the claim's scope.

";

const OTHERS: &str = "\
Each ID token also has `iss`, `sub`, `aud`, `iat`, `exp`, `auth_time`, `sid`, `acr` and `amr`, and `nonce`, `at_hash`
and `azp` where OpenID Connect demands them. [Authentication assurance](authentication-assurance.md) explains `acr`
and `amr`. The claim `account` is a text with JSON: the account of the user in the application, with the roles. The
plugin `account-roles` writes it. Claim mappers may write further claims; see [Write a
plugin](../developers/plugins.md).
";

pub(crate) fn page() -> String {
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
    heading("Claims and scopes", "host/model/src/scope.rs")
        + INTRODUCTION
        + &table(["Scope", "Claims", "Scope of a new application"], rows)
        + OTHERS
}
