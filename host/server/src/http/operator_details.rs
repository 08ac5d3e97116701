//! What an error page tells the application's operator: the application, what it sent, and the parameter at fault.
//!
//! Anybody can request these pages, so they show what the request itself brought, and of the registration the name
//! only. They list no registered address.

use crate::domain::Services;
use crate::http::pages::OperatorDetail;
use crate::http::texts::Message;
use assent_model::id::Did;
use assent_model::name::QuotedText;

/// The parameter at fault, by its name in the protocol.
pub(super) fn parameter(name: &str) -> OperatorDetail {
    OperatorDetail {
        label: Message::new("error-operator-parameter"),
        value: name.to_owned(),
    }
}

/// A value that the request brought. Invisible characters are escaped, and a long one is cut.
pub(super) fn received(label: Message, value: &QuotedText) -> OperatorDetail {
    OperatorDetail {
        label,
        value: value.to_string(),
    }
}

/// The address that the request brought: a redirect URI, or where a SAML response is to go.
pub(super) fn address(value: &QuotedText) -> OperatorDetail {
    received(Message::new("error-operator-address"), value)
}

/// An application that the request names by its id; with its name where it is registered.
pub(super) async fn application(services: &Services, id: &Did) -> Vec<OperatorDetail> {
    // The page is for an error already, and needs no second one.
    let registered = services.store.registered(id).await.ok().flatten();
    let name = registered.map(|found| OperatorDetail {
        label: Message::new("error-operator-application"),
        value: found.name().to_owned(),
    });
    let id = OperatorDetail {
        label: Message::new("error-operator-id"),
        value: id.to_string(),
    };
    name.into_iter().chain([id]).collect()
}

/// The application that the request names by this text, which may be no id.
pub(super) async fn named(services: &Services, text: &str) -> Vec<OperatorDetail> {
    match text.parse() {
        Ok(id) => application(services, &id).await,
        Err(_) => vec![received(
            Message::new("error-operator-id"),
            &QuotedText::new(text),
        )],
    }
}
