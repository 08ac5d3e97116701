//! The emails, each as plain text and as HTML, in the language of the recipient.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};
use lettre::{Address, Message as Mail};

use crate::domain::Services;
use crate::messages::Message;
use assent_model::clock::Timestamp;
use assent_model::language::Language;
use assent_model::user::User;

/// A part of the body.
#[derive(Clone, Debug)]
enum Paragraph {
    /// Sentences.
    Text(Message),
    /// A link: its label and its target.
    Link(Message, String),
    /// Small print.
    Foot(Message),
}

/// An email without a recipient.
#[derive(Clone, Debug)]
pub struct Letter {
    language: Language,
    subject: Message,
    paragraphs: Vec<Paragraph>,
}

/// Returns the language in which a user receives email: that of the profile, or the one in the settings.
pub fn language_of(services: &Services, user: &User) -> Language {
    let own = Language::of_ranges(user.profile.locale.as_deref());
    own.unwrap_or(services.settings.branding.language)
}

impl Letter {
    /// Returns the invitation of a user, with the link that enrols a device.
    pub fn invitation(
        services: &Services,
        language: Language,
        name: &str,
        link: &str,
        expires_at: Timestamp,
    ) -> Self {
        use Paragraph::{Foot, Link, Text};
        let operator = &services.settings.operator;
        let mut paragraphs = vec![
            Text(Message::new("mail-greeting").text("name", harmless_name(name))),
            Text(Message::new("mail-invitation-lead").text("operator", operator)),
            Text(Message::new("mail-invitation-steps")),
            Link(Message::new("mail-invitation-link"), link.to_owned()),
            Text(
                Message::new("mail-invitation-expires")
                    .message("date", Message::day(expires_at))
                    .text("time", time_of(expires_at)),
            ),
            Text(Message::new("mail-invitation-private")),
        ];
        if let Some(support) = &services.settings.branding.support {
            paragraphs.push(Text(Message::new("mail-support").text("support", support)));
        }
        paragraphs.push(Foot(foot(services)));
        Self {
            language,
            subject: Message::new("mail-invitation-subject").text("operator", operator),
            paragraphs,
        }
    }

    /// Returns a test email.
    pub fn test(services: &Services, language: Language) -> Self {
        let operator = &services.settings.operator;
        Self {
            language,
            subject: Message::new("mail-test-subject").text("operator", operator),
            paragraphs: vec![
                Paragraph::Text(Message::new("mail-test-text")),
                Paragraph::Foot(foot(services)),
            ],
        }
    }

    /// Returns the subject, in one line.
    pub fn subject(&self) -> String {
        one_line(&self.subject.plain(self.language))
    }

    /// Returns the body as plain text.
    pub fn text(&self) -> String {
        let paragraphs = self.paragraphs.iter().map(|paragraph| match paragraph {
            Paragraph::Text(message) => message.plain(self.language),
            Paragraph::Link(_, address) => address.clone(),
            Paragraph::Foot(message) => format!("-- \n{}", message.plain(self.language)),
        });
        let mut text = paragraphs.collect::<Vec<_>>().join("\n\n");
        text.push('\n');
        text
    }

    /// Returns the body as HTML. It loads no external content.
    pub fn html(&self) -> String {
        let (tag, direction) = (self.language.tag(), self.language.direction());
        let title = escaped(&self.subject());
        let mut html = format!(
            "<!doctype html>\n<html lang=\"{tag}\" dir=\"{direction}\">\n<head><meta charset=\"utf-8\"><title>{title}\
             </title></head>\n<body style=\"margin:0 auto;padding:24px;max-width:560px;font:16px/1.5 sans-serif;\
             color:#1b2733;background:#ffffff\">\n"
        );
        for paragraph in &self.paragraphs {
            let line = match paragraph {
                Paragraph::Text(message) => format!("<p>{}</p>", message.markup(self.language)),
                Paragraph::Link(label, address) => format!(
                    "<p><a href=\"{}\" style=\"display:inline-block;padding:12px 20px;border-radius:8px;\
                     background:#0b5a6e;color:#ffffff;text-decoration:none;font-weight:bold\">{}</a></p>",
                    escaped(address),
                    label.markup(self.language)
                ),
                Paragraph::Foot(message) => format!(
                    "<p style=\"font-size:13px;color:#52606d\">{}</p>",
                    message.markup(self.language)
                ),
            };
            html.push_str(&line);
            html.push('\n');
        }
        html.push_str("</body>\n</html>\n");
        html
    }

    /// Returns the message for a recipient. The same `id` results in the same Message-ID, so that a mail program
    /// recognises a duplicate.
    ///
    /// # Errors
    /// The reason why the message cannot be sent, as a sentence.
    pub fn mail_to(
        &self,
        services: &Services,
        from: &Mailbox,
        name: Option<&str>,
        address: &str,
        id: &str,
    ) -> Result<Mail, String> {
        let address: Address = address
            .parse()
            .map_err(|_| "the email address of the user is not valid".to_owned())?;
        let to = Mailbox::new(name.map(harmless_name), address);
        let host = services
            .settings
            .base_url
            .host_str()
            .unwrap_or("localhost")
            .trim_matches(['[', ']']);
        let date = SystemTime::UNIX_EPOCH
            + Duration::from_secs(u64::try_from(services.now().seconds()).unwrap_or_default());
        // RFC 3834 section 5: this prevents automatic responses.
        let header = |name, value: &str| {
            HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_owned())
        };
        Mail::builder()
            .from(from.clone())
            .to(to)
            .subject(self.subject())
            .date(date)
            .message_id(Some(format!("<{id}@{host}>")))
            .raw_header(header("Auto-Submitted", "auto-generated"))
            .raw_header(header("Content-Language", self.language.tag()))
            .multipart(MultiPart::alternative_plain_html(self.text(), self.html()))
            .map_err(|error| error.to_string())
    }
}

fn foot(services: &Services) -> Message {
    Message::new("mail-foot")
        .text("operator", &services.settings.operator)
        .text("address", services.settings.origin())
}

/// Returns the time of day in UTC: `13:47`.
fn time_of(at: Timestamp) -> String {
    let minutes = at.seconds().rem_euclid(86_400) / 60;
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

/// The largest length of a name in an email, in characters.
const LONGEST_NAME: usize = 64;

/// Returns a name for an email, in which no mail program sees an address. An administrator who may create users chooses
/// the name, and the email must not lend the sender's reputation to a site that the name contains.
fn harmless_name(name: &str) -> String {
    // IDNA (UTS 46) maps the other three to a dot.
    const DOTS: [char; 4] = ['.', '\u{3002}', '\u{ff0e}', '\u{ff61}'];
    let name = one_line(name).replace("://", " ");
    let mut harmless = String::new();
    let mut characters = name.chars().peekable();
    while let Some(c) = characters.next() {
        let is_separator = DOTS.contains(&c) || matches!(c, ':' | '/' | '\\' | '\u{2024}' | '@');
        harmless.push(if DOTS.contains(&c) || c == '\u{2024}' {
            '.'
        } else {
            c
        });
        if is_separator && characters.peek().is_some_and(|next| !next.is_whitespace()) {
            harmless.push(' ');
        }
    }
    harmless.chars().take(LONGEST_NAME).collect()
}

/// Replaces control characters, so that a name cannot begin another header or another line.
fn one_line(text: &str) -> String {
    let blank = |c: char| if c.is_control() { ' ' } else { c };
    text.chars()
        .map(blank)
        .collect::<String>()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut html, character| {
        match character {
            '<' | '>' | '&' | '"' | '\'' => _ = write!(html, "&#{};", u32::from(character)),
            other => html.push(other),
        }
        html
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greeting_of_an_invitation_lends_its_reputation_to_no_site() {
        for (name, harmless) in [
            ("Ada Lovelace", "Ada Lovelace"),
            ("Dr. Ada K. Lovelace", "Dr. Ada K. Lovelace"),
            ("J.R.R. Tolkien", "J. R. R. Tolkien"),
            ("https://evil.example/win", "https evil. example/ win"),
            ("www.evil.example", "www. evil. example"),
            ("Verify at evil.example", "Verify at evil. example"),
            (
                "evil\u{3002}example evil\u{ff0e}example evil\u{2024}example",
                "evil. example evil. example evil. example",
            ),
            ("support@evil.example", "support@ evil. example"),
            ("mailto:x tel:+49900", "mailto: x tel: +49900"),
            ("one\r\nBcc: two", "one Bcc: two"),
        ] {
            assert_eq!(harmless_name(name), harmless);
        }
        assert_eq!(harmless_name(&"x".repeat(120)).len(), LONGEST_NAME);
    }
}
