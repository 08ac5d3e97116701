//! Claims and SAML attributes by rules in the settings, for operators who want no plugin of their own.
//!
//! ```toml
//! [[plugins.claim_mappers]]
//! name = "claim-map"
//! file = "/usr/lib/assent/plugins/claim-map.wasm"
//! writes = ["groups", "attribute:groups"]    # each claim and attribute that the rules make
//!
//! [[plugins.claim_mappers.config.rules]]
//! claim = "groups"                           # the roles that begin with `wiki-`, without that
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
//! Rules are followed in their order, and each makes one thing:
//! - `claim`: a claim, of this name. It is told in ID tokens, UserInfo and introspection, and known to later rules and
//!   plugins everywhere, assertions included. A rule for a claim that is there already replaces it. If the rule's value
//!   turns out to be nothing, the claim is taken away, so that no filter leaves the unfiltered behind.
//! - `attribute`: an attribute of SAML assertions, which may have `friendly_name`, `name_format` (`basic`, `uri`,
//!   `unspecified` or another URI) and `type` (`string`, `boolean`, `integer`, `date_time`, `any_uri`,
//!   `base64_binary`). A list becomes several values; without values there is no attribute. Rules for the same
//!   attribute add to it.
//! - `remove`: nothing; the claim of this name is taken away.
//! - `deny`: the sign-in ends with this sentence, which the person reads.
//!
//! Where its value comes from:
//! - `from`: a name, or several: then the first of which something is known. A name is `roles`, `scopes`, `amr` or
//!   `acr`; `account.name`, `user.email`, `user.groups` (those that are assigned to the application),
//!   `user.profile.locale`, `application.name` and so on, in what the host knows of them; else it is a claim, made by
//!   the host, an earlier plugin or an earlier rule. Further dots lead into nested values. The host's claims are there
//!   only if they are told, by a scope for example; `user.email` is known always.
//! - `value`: any value. In its texts, however deep, `{email}` stands for what has that name; `{{` and `}}` are the
//!   braces themselves. A text with a list in it, such as `"team-{roles}"`, becomes a list; within a list it is there
//!   for each member. A text that names something of which nothing is known is left out.
//!
//! What is done with it, in this order, to each member of a list or to a single value:
//! - `split`: a text becomes a list, at this separator.
//! - `only`, `except`: keeps or drops what is one of these. A `*` stands for any text.
//! - `strip_prefix`: takes this away at the beginning.
//! - `lookup`: a table from what is there to what it becomes; a list becomes several. What the table does not have is
//!   dropped, unless it has `"*"` for it, or `keep_unknown = true`.
//! - `add_prefix`: puts this in front.
//! - What is in a list twice is left there once.
//! - `join`: makes one text of a list, with this separator.
//! - `default`: the value if nothing is known or left. It may be all that `value` may be.
//!
//! When it applies, always if nothing is said:
//! - `scopes`, for a claim: if one of these was granted, or the application asked for the claim by its name, as with
//!   the host's own claims. Assertions have no scopes, so there it applies.
//! - `when`: if all of these hold. `role`, `scope`, `sink` (`id-token`, `userinfo`, `introspection`, `saml-assertion`)
//!   and `requested` (a claim that was asked for by name) hold for one of those they list; `is = { "account.state" =
//!   "active" }` if what has the name is that, or has it as a member. `*` stands for any text in roles and in `is`.
//! - `unless`: the other way round; the rule is left out if all of these hold.

mod apply;
mod check;
mod facts;
mod pattern;
mod rule;
mod schema;
mod steps;

use assent_plugin_sdk::Description;
use assent_plugin_sdk::claims::{ClaimMapper, Edit, Failure, Input};

pub use rule::Config;

/// Makes claims and attributes by rules.
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
