//! The permissions of scopes in plain words, as the consent page, the portal and devices show them.

use std::iter;

use crate::messages::Message;
use assent_model::scope::{Scope, Scopes};

/// Returns the permissions of scopes.
pub fn in_words(scopes: &Scopes) -> Vec<Message> {
    let words = scopes
        .iter()
        .flat_map(|scope| iter::once(words_of(scope)).chain(second_words_of(scope)));
    words.collect()
}

/// Describes the permission of a scope.
pub const fn words_of(scope: Scope) -> Message {
    match scope {
        Scope::OpenId => Message::new("scope-openid"),
        Scope::Profile => Message::new("scope-profile"),
        Scope::Email => Message::new("scope-email"),
        Scope::Phone => Message::new("scope-phone"),
        Scope::Address => Message::new("scope-address"),
        Scope::Groups => Message::new("scope-groups"),
        Scope::OfflineAccess => Message::new("scope-offline-access"),
    }
}

/// The second description of a scope: `profile` is about the user's profile and about the account in the application.
pub fn second_words_of(scope: Scope) -> Option<Message> {
    (scope == Scope::Profile).then(|| Message::new("scope-account"))
}
