//! Messages of single logout to a service provider.

use std::time::Duration;

use crate::domain::keys::saml_keys;
use crate::domain::{InternalError, Services};
use crate::saml::peer::{entity_id, message_id, session_index};
use assent_model::redirect::CheckedRedirect;
use assent_model::saml::{Binding, LogoutAnswer, LogoutTurn, ServiceProvider, SingleLogout};
use assent_saml_core::binding::{MessageKind, post_value, redirect_location};
use assent_saml_core::message::{Header, LogoutRequest, LogoutResponse, NameId, Status};
use assent_saml_core::xml::Signer;

/// The lifetime of a LogoutRequest.
const LIFETIME: Duration = Duration::from_secs(5 * 60);

/// A message to a service provider.
#[derive(Clone, Debug)]
pub enum Outgoing {
    /// The browser is redirected to this address.
    Redirect(String),
    /// The browser posts a form.
    Form {
        /// The name of the service provider.
        name: String,
        /// The target of the form.
        action: CheckedRedirect,
        /// The fields, by name and value.
        fields: Vec<(&'static str, String)>,
    },
}

/// Creates the LogoutRequest of a turn (SAML core section 3.7.1).
pub(super) async fn request(
    services: &Services,
    provider: &ServiceProvider,
    service: &SingleLogout,
    turn: &LogoutTurn,
) -> Result<Outgoing, InternalError> {
    let destination = service.url.to_checked();
    let message = LogoutRequest {
        header: header(services, provider, turn.request.clone(), &destination),
        not_on_or_after: Some(services.now() + LIFETIME),
        name_id: NameId {
            value: turn.name_id.value.clone(),
            format: Some(turn.name_id.format.uri().to_owned()),
            name_qualifier: None,
            sp_name_qualifier: None,
        },
        session_indexes: vec![session_index(services, &provider.id, &turn.sid)?],
        reason: None,
    };
    let signer = saml_keys::signer(services, &provider.id).await?;
    let write = |signer: Option<&Signer>| message.write(signer);
    let kind = MessageKind::Request;
    sign_outgoing(
        provider,
        service.binding,
        destination,
        kind,
        None,
        &signer,
        write,
    )
}

/// Creates the response to the requesting service provider (SAML core section 3.7.2).
pub async fn respond(
    services: &Services,
    provider: &ServiceProvider,
    answer: LogoutAnswer,
    status: Status,
) -> Result<Outgoing, InternalError> {
    let message = LogoutResponse {
        header: header(
            services,
            provider,
            message_id(services),
            &answer.destination,
        ),
        in_response_to: Some(answer.in_response_to),
        status,
    };
    let signer = saml_keys::signer(services, &provider.id).await?;
    let write = |signer: Option<&Signer>| message.write(signer);
    let kind = MessageKind::Response;
    let (destination, relay_state) = (answer.destination, answer.relay_state);
    sign_outgoing(
        provider,
        answer.binding,
        destination,
        kind,
        relay_state,
        &signer,
        write,
    )
}

fn header(
    services: &Services,
    provider: &ServiceProvider,
    id: String,
    destination: &CheckedRedirect,
) -> Header {
    Header {
        id,
        issuer: Some(entity_id(services, provider).to_owned()),
        issue_instant: services.now(),
        destination: Some(destination.as_str().to_owned()),
    }
}

/// Signs a message for its binding: a redirect has the signature beside the message, a form has it within.
fn sign_outgoing<E: std::fmt::Display>(
    provider: &ServiceProvider,
    binding: Binding,
    destination: CheckedRedirect,
    kind: MessageKind,
    relay_state: Option<String>,
    signer: &Signer,
    write: impl Fn(Option<&Signer>) -> Result<String, E>,
) -> Result<Outgoing, InternalError> {
    match binding {
        Binding::Redirect => {
            let xml = write(None).map_err(unsendable)?;
            let location = redirect_location(
                destination.as_str(),
                kind,
                &xml,
                relay_state.as_deref(),
                Some(signer),
            );
            Ok(Outgoing::Redirect(location.map_err(unsendable)?))
        }
        Binding::Post => {
            let xml = write(Some(signer)).map_err(unsendable)?;
            let mut fields = vec![(kind.parameter(), post_value(&xml))];
            fields.extend(relay_state.map(|state| ("RelayState", state)));
            Ok(Outgoing::Form {
                name: provider.name.clone(),
                action: destination,
                fields,
            })
        }
    }
}

fn unsendable(error: impl std::fmt::Display) -> InternalError {
    InternalError::Saml(error.to_string())
}
