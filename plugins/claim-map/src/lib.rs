//! Writes claims and SAML attributes by rules in the settings, so that operators need no plugin of their own.
//!
//! ```toml
//! [[plugins.claim_mappers]]
//! name = "claim-map"
//! file = "/usr/lib/assent/plugins/claim-map.wasm"
//! writes = ["groups", "attribute:groups"]    # each claim and attribute of the rules
//!
//! [[plugins.claim_mappers.config.rules]]
//! claim = "groups"                           # the roles that begin with `wiki-`, without this prefix
//! from = "roles"
//! only = "wiki-*"
//! strip_prefix = "wiki-"
//!
//! [[plugins.claim_mappers.config.rules]]
//! attribute = "groups"                       # the same in assertions
//! from = "groups"
//!
//! [[plugins.claim_mappers.config.rules]]
//! deny = "Only members of the staff may use this application."
//! unless = { role = ["staff", "admin"] }
//! ```
//!
//! The plugin evaluates the rules in their order. Each rule has one of these outputs:
//! - `claim`: sets the claim with this name. ID tokens, UserInfo and introspection contain it. Later rules and plugins
//!   see it for every destination, also for assertions. It replaces an existing claim. If the rule has no value, the
//!   claim is removed, so that a filter never leaves the unfiltered value.
//! - `attribute`: adds an attribute to SAML assertions. It may have `friendly_name`, `name_format` (`basic`, `uri`,
//!   `unspecified` or another URI) and `type` (`string`, `boolean`, `integer`, `date_time`, `any_uri`,
//!   `base64_binary`). A list becomes several values. Without values there is no attribute. Rules for the same
//!   attribute add values to it.
//! - `remove`: removes the claim with this name.
//! - `deny`: denies the sign-in. The user sees this sentence.
//!
//! The source of the value:
//! - `from`: one name, or a list of names; the first one with a value is used. A name is `roles`, `scopes`, `amr` or
//!   `acr`, or a member of a record of the server: `account.name`, `user.email`, `user.groups` (the groups with access
//!   to the application), `user.profile.locale`, `application.name` and so on. Any other name is a claim from the
//!   server, an earlier plugin or an earlier rule. Further dots select nested values. A claim of the server exists only
//!   if the application receives it, for example by a scope. `user.email` always exists.
//! - `value`: any value. In its texts, at any depth, `{email}` stands for the value with that name. `{{` and `}}` stand
//!   for braces. A text that names a list, such as `"team-{roles}"`, becomes a list. Inside a list, the text is
//!   repeated for each member. A text that names a missing value is omitted.
//!
//! The steps, in this order. They apply to each member of a list, or to a single value:
//! - `split`: splits a text into a list at this separator.
//! - `only`, `except`: keeps or drops the values in this list. A `*` stands for any text.
//! - `strip_prefix`: removes this text at the beginning.
//! - `lookup`: replaces a value by its entry in this table. An entry that is a list becomes several values. A value
//!   without an entry is dropped, unless the table has `"*"`, or `keep_unknown = true`.
//! - `add_prefix`: adds this text at the beginning.
//! - Duplicates in a list are removed.
//! - `join`: joins a list to one text with this separator.
//! - `default`: the value if there is none, or if no value is left. It may be anything that `value` may be.
//!
//! The conditions. A rule without conditions always applies:
//! - `scopes`, for a claim: applies if one of these scopes was granted or the request names the claim, as for the
//!   server's own claims. Assertions have no scopes, so the rule always applies there.
//! - `when`: applies if all of these conditions hold. `role`, `scope`, `sink` (`id-token`, `userinfo`, `introspection`,
//!   `saml-assertion`) and `requested` (a claim that the request names) hold for one of their values.
//!   `is = { "account.state" = "active" }` holds if the value of the name is this value or a list that contains it. `*`
//!   stands for any text in `role` and `is`.
//! - `unless`: the opposite. The rule does not apply if all of these conditions hold.

mod apply;
mod check;
mod facts;
mod pattern;
pub mod rule;
mod schema;
mod steps;

use assent_plugin_sdk::Description;
use assent_plugin_sdk::claims::{ClaimMapper, Edit, Failure, Input};

use rule::Config;

/// Writes claims and attributes by rules.
pub struct ClaimMap;

impl ClaimMapper for ClaimMap {
    type Config = Config;

    fn describe() -> Description {
        Description::new(
            "claim-map",
            env!("CARGO_PKG_VERSION"),
            env!("CARGO_PKG_DESCRIPTION"),
        )
        .writes(["*", "attribute:*"])
        .denies()
        .config_schema(schema::of_settings())
    }

    fn validate(config: &Config) -> Result<(), Vec<String>> {
        let errors = check::errors(config);
        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors)
        }
    }

    fn map(config: &Config, input: &Input) -> Result<Vec<Edit>, Failure> {
        apply::edits(config, input)
    }
}

assent_plugin_sdk::claim_mapper!(ClaimMap);

#[cfg(test)]
mod tests;
