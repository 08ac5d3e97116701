//! A link in a page.

use crate::http::texts::Message;

/// A link on a page.
#[derive(Clone, Debug)]
pub struct Link {
    /// Where it leads.
    pub address: String,
    /// What it says.
    pub text: Message,
}

impl Link {
    /// To the start page.
    pub fn to_start() -> Self {
        Self {
            address: "/".to_owned(),
            text: Message::new("start-page"),
        }
    }
}
