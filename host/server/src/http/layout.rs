//! The layout of every page: its language, its texts, and the operator's branding.

use std::borrow::Borrow;

use askama::Template;
use askama::filters::Safe;

use super::assets;
use crate::messages::Message;
use assent_model::language::Language;

/// The layout of every page.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The operator of this service, by the name that its users know.
    pub operator: String,
    /// The language of the page.
    pub language: Language,
    /// The address of the operator's logo, which replaces the logo of Assent.
    pub logo: Option<String>,
    /// The address of the stylesheet with the operator's colours, beside the stylesheet of Assent.
    pub colours: Option<String>,
    /// The operator's help for users after an error.
    pub support: Option<Support>,
}

/// A link to the operator's help.
#[derive(Clone, Debug)]
pub struct Support {
    /// The target of the link.
    pub address: String,
    /// The text of the link.
    pub text: String,
}

impl Default for Layout {
    fn default() -> Self {
        let operator = "Assent".to_owned();
        Self {
            operator,
            language: Language::default(),
            logo: None,
            colours: None,
            support: None,
        }
    }
}

impl Layout {
    /// The address of a file under `assets/`, with the hash of its content.
    pub fn asset(&self, name: &str) -> String {
        assets::url(name)
    }

    /// A message without values.
    pub fn text(&self, id: &'static str) -> String {
        Message::new(id).plain(self.language)
    }

    /// A message, to which the template adds values.
    pub fn message(&self, id: &'static str) -> PageMessage {
        PageMessage {
            message: Message::new(id),
            language: self.language,
        }
    }

    /// A message as plain text.
    pub fn plain(&self, message: impl Borrow<Message>) -> String {
        message.borrow().plain(self.language)
    }

    /// A message as HTML.
    pub fn html(&self, message: impl Borrow<Message>) -> Safe<String> {
        message.borrow().html(self.language)
    }
}

/// A message in the page's language.
#[derive(Clone, Debug)]
pub struct PageMessage {
    message: Message,
    language: Language,
}

impl PageMessage {
    /// Adds a text that a user or an application wrote.
    pub fn text(self, name: &'static str, text: &str) -> Self {
        Self {
            message: self.message.text(name, text),
            ..self
        }
    }

    /// Adds a number.
    pub fn number(self, name: &'static str, number: u32) -> Self {
        Self {
            message: self.message.number(name, number),
            ..self
        }
    }

    /// Adds another message.
    pub fn message(self, name: &'static str, message: &Message) -> Self {
        Self {
            message: self.message.message(name, message.clone()),
            ..self
        }
    }

    /// The message as plain text, for titles and attributes.
    pub fn plain(&self) -> String {
        self.message.plain(self.language)
    }

    /// The message as HTML.
    pub fn html(&self) -> Safe<String> {
        self.message.html(self.language)
    }
}

/// A page: a template with a layout.
pub trait Page: Template {
    /// The layout of the page.
    fn layout(&self) -> &Layout;
}
