//! What every page has: its language and the texts in it, and the operator's looks.

use std::borrow::Borrow;

use askama::Template;
use askama::filters::Safe;

use super::assets;
use super::texts::Message;
use assent_model::language::Language;

/// What every page has.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Who runs this service, as its users know it.
    pub operator: String,
    /// The language of the page.
    pub language: Language,
    /// The address of the operator's logo, in place of ours.
    pub logo: Option<String>,
    /// The address of the operator's colours, beside ours.
    pub colours: Option<String>,
    /// Where there is help when something went wrong.
    pub support: Option<Support>,
}

/// Where the operator offers help.
#[derive(Clone, Debug)]
pub struct Support {
    /// Where the link leads.
    pub address: String,
    /// What it says.
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
    /// The address of a file under `assets/`, with its content's hash in it.
    pub fn asset(&self, name: &str) -> String {
        assets::url(name)
    }

    /// A message that has no values.
    pub fn text(&self, id: &'static str) -> String {
        Message::new(id).plain(self.language)
    }

    /// A message, to be given its values.
    pub fn say(&self, id: &'static str) -> PageMessage {
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

/// A message on a page, in the page's language.
#[derive(Clone, Debug)]
pub struct PageMessage {
    message: Message,
    language: Language,
}

impl PageMessage {
    /// With a text that comes from people, or from applications.
    pub fn text(self, name: &'static str, text: &str) -> Self {
        Self {
            message: self.message.text(name, text),
            ..self
        }
    }

    /// With a number.
    pub fn number(self, name: &'static str, number: u32) -> Self {
        Self {
            message: self.message.number(name, number),
            ..self
        }
    }

    /// With another message.
    pub fn message(self, name: &'static str, message: &Message) -> Self {
        Self {
            message: self.message.message(name, message.clone()),
            ..self
        }
    }

    /// As plain text, for titles and attributes.
    pub fn plain(&self) -> String {
        self.message.plain(self.language)
    }

    /// As HTML.
    pub fn html(&self) -> Safe<String> {
        self.message.html(self.language)
    }
}

/// A page: a template with what every page has.
pub trait Page: Template {
    /// What every page has.
    fn layout(&self) -> &Layout;
}
