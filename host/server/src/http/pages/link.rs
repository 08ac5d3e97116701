//! Links on pages.

use crate::messages::Message;

/// A link on a page.
#[derive(Clone, Debug)]
pub struct Link {
    /// The target.
    pub address: String,
    /// The text.
    pub text: Message,
}

impl Link {
    /// Returns the link to the start page.
    pub fn to_start() -> Self {
        Self {
            address: "/".to_owned(),
            text: Message::new("start-page"),
        }
    }
}
