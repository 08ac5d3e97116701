//! Details for the application's operator on an error page: the application, the values that it sent, and the parameter
//! at fault.
//!
//! Every client can request these pages. So they show the values of the request itself and, from the registration, only
//! the name. They show no registered address.

use crate::domain::Services;
use crate::http::pages::OperatorDetail;
use crate::messages::Message;
use assent_model::id::Did;
use assent_model::name::QuotedText;

/// The parameter at fault, by its name in the protocol.
pub(super) fn parameter(name: &str) -> OperatorDetail {
    OperatorDetail {
        label: Message::new("error-operator-parameter"),
        value: name.to_owned(),
        advice: None,
    }
}

/// A value of the request. Invisible characters are escaped, and a long value is truncated.
pub(super) fn value_of(label: Message, value: &QuotedText) -> OperatorDetail {
    OperatorDetail {
        label,
        value: value.to_string(),
        advice: None,
    }
}

/// The address in the request, which is not registered: a redirect URI, or the destination of a SAML response. The
/// operator may register it, if the page shows it exactly.
pub(super) fn address(value: &QuotedText) -> OperatorDetail {
    let advice = || Message::new("error-operator-register");
    OperatorDetail {
        advice: value.is_exact().then(advice),
        ..value_of(Message::new("error-operator-address"), value)
    }
}

/// The label of the id of an OpenID Connect client, as in the console.
pub(super) fn client_id() -> Message {
    Message::new("error-operator-client-id")
}

/// The client that the request names by its Client ID, with its name if it is registered.
pub(super) async fn client(services: &Services, id: &Did) -> Vec<OperatorDetail> {
    application(services, id, client_id()).await
}

/// The application that the request names by its id, with its name if it is registered.
async fn application(services: &Services, id: &Did, label: Message) -> Vec<OperatorDetail> {
    // The page already reports an error, and does not need another one.
    let registered = services.store.registered(id).await.ok().flatten();
    let name = registered.map(|found| OperatorDetail {
        label: Message::new("error-operator-application"),
        value: found.name().to_owned(),
        advice: None,
    });
    let id = OperatorDetail {
        label,
        value: id.to_string(),
        advice: None,
    };
    name.into_iter().chain([id]).collect()
}

/// The service provider that the request names by this text, which may not be an id.
pub(super) async fn service_provider(services: &Services, text: &str) -> Vec<OperatorDetail> {
    let label = Message::new("error-operator-id");
    match text.parse() {
        Ok(id) => application(services, &id, label).await,
        Err(_) => vec![value_of(label, &QuotedText::new(text))],
    }
}
