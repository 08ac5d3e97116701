//! A test sign-in of a SAML application. The server creates the AuthnRequest in place of the application, and reads the
//! response as the service provider would.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::domain::sign_in::test_sign_in;
use crate::domain::sign_in::test_sign_in::DerivedValue;
use crate::domain::sign_in::test_sign_in::record;
use crate::domain::{InternalError, Services};
use crate::saml::peer::single_sign_on_url;
use assent_model::saml::ServiceProvider;
use assent_model::secret::Digest;
use assent_model::test_sign_in::{
    OpenTestSignIn, StepNote, TestSignIn, TestSignInOutcome, TestSignInStep,
};
use assent_saml_core::binding::{Incoming, MessageKind, Signature, redirect_location};
use assent_saml_core::message::names::{
    NAME_ID, SAML, STATUS, STATUS_CODE, STATUS_MESSAGE, SUBJECT,
};
use assent_saml_core::message::status::SUCCESS;
use assent_saml_core::message::{AuthnRequest, Header};
use assent_saml_core::xml::Element;

/// The element with the value of a signature, as this server writes it.
const SIGNATURE_VALUE: &str = "ds:SignatureValue";

/// Returns the address at which a test sign-in begins, and the content of the request.
pub fn request(
    services: &Services,
    test_sign_in: &TestSignIn,
    provider: &ServiceProvider,
) -> Result<(String, StepNote), InternalError> {
    let endpoint = single_sign_on_url(services, &provider.id);
    let header = Header {
        id: test_sign_in::derived_value(services, test_sign_in.id, DerivedValue::Message)?,
        issuer: Some(provider.settings.entity_id.clone()),
        issue_instant: services.now(),
        destination: Some(endpoint.clone()),
    };
    let internal = |error: &dyn std::fmt::Display| InternalError::Saml(error.to_string());
    let xml =
        AuthnRequest::with_force_authn(&header, &test_sign_in::address(services, test_sign_in.id))
            .map_err(|error| internal(&error))?;
    let relay_state = test_sign_in.id.to_string();
    let url = redirect_location(
        &endpoint,
        MessageKind::Request,
        &xml,
        Some(&relay_state),
        None,
    )
    .map_err(|error| internal(&error))?;
    let signing = match provider.settings.require_signed_requests {
        true => {
            "an AuthnRequest in the application's place; the application must sign its own, and this server accepts \
                the test request without a signature"
        }
        false => "an AuthnRequest as the application would create it",
    };
    let note = StepNote::good(signing)
        .with(json!({ "endpoint": endpoint, "request": xml, "relay_state": relay_state }));
    Ok((url, note))
}

/// Returns whether a form contains the response of a test sign-in that this server created. No other form ends it.
pub fn is_answer(
    services: &Services,
    test_sign_in: &TestSignIn,
    incoming: &Incoming,
    body: &[u8],
) -> Result<bool, InternalError> {
    let vouched = test_sign_in::response_seal(services, test_sign_in.id, &posted_response(body))?;
    // Digests are compared, so that the time of the comparison reveals nothing about the value.
    let same = |state: &str| Digest::sha256(state.as_bytes()) == Digest::sha256(vouched.as_bytes());
    Ok(incoming.kind() == MessageKind::Response && incoming.relay_state().is_some_and(same))
}

/// The content of a response.
struct ResponseContent {
    status: String,
    in_response_to: Option<String>,
    name_id: Value,
    attributes: Vec<Value>,
}

/// Processes the response of a test sign-in, and ends it.
pub async fn take_up(
    services: &Services,
    open: &OpenTestSignIn,
    incoming: &Incoming,
    body: &[u8],
) -> Result<TestSignInOutcome, InternalError> {
    let test_sign_in = open.test_sign_in();
    let asked = test_sign_in::derived_value(services, test_sign_in.id, DerivedValue::Message)?;
    // This server created the response, so the signature need not be verified again.
    let content = match incoming.trusted_message(&[], Signature::Optional) {
        Ok(trusted) => read(trusted.root()),
        Err(error) => Err(error.to_string()),
    };
    let content = content.and_then(|content| match content.in_response_to.as_deref() {
        Some(id) if id == asked => Ok(content),
        _ => Err("the response belongs to another request".to_owned()),
    });
    let response = without_signatures(&posted_response(body));
    let (outcome, note, result) = match content {
        Ok(ResponseContent {
            status,
            name_id,
            attributes,
            ..
        }) => {
            let succeeded = status == SUCCESS;
            let detail = match succeeded {
                true => {
                    "a signed response with a signed assertion; its Recipient is this test sign-in, so that the \
                     application accepts no copy of it"
                }
                false => {
                    "a signed response without an assertion: the application would have received a failure"
                }
            };
            let cause = if succeeded {
                None
            } else {
                test_sign_in::cause(services, test_sign_in.id).await?
            };
            let detail = cause.as_ref().map_or_else(
                || detail.to_owned(),
                |cause| format!("{detail}, because {cause}"),
            );
            let note = StepNote {
                succeeded,
                ..StepNote::good(detail)
            }
            .with(json!({ "status": status }));
            let outcome = if succeeded {
                TestSignInOutcome::Completed
            } else {
                TestSignInOutcome::Failed
            };
            let result = json!({
                "protocol": "saml", "response": response, "status": status,
                "name_id": name_id, "attributes": attributes, "error_description": cause,
            });
            (outcome, note, result)
        }
        Err(why) => {
            let result = json!({
                "protocol": "saml", "response": response, "error": "invalid_response", "error_description": why,
            });
            (TestSignInOutcome::Failed, StepNote::bad(why), result)
        }
    };
    record::record_step(services, test_sign_in.id, TestSignInStep::Response, note).await?;
    record::end(services, test_sign_in, outcome, result, None).await?;
    Ok(outcome)
}

/// Returns a response of this server without the values of its signatures. Otherwise a service provider that does not
/// check the recipient could accept the response. The text of values is escaped, so each such element is a signature.
fn without_signatures(xml: &str) -> String {
    let end = format!("</{SIGNATURE_VALUE}>");
    let mut stripped = String::with_capacity(xml.len());
    let mut rest = xml;
    while let Some((before, value)) = rest.split_once(&format!("<{SIGNATURE_VALUE}>")) {
        stripped.push_str(before);
        stripped.push_str(&format!("<{SIGNATURE_VALUE}/>"));
        rest = value.split_once(&end).map_or("", |(_, after)| after);
    }
    stripped + rest
}

fn posted_response(body: &[u8]) -> String {
    let mut pairs = form_urlencoded::parse(body);
    let value = pairs
        .find(|(name, _)| name == MessageKind::Response.parameter())
        .map(|(_, value)| value.into_owned());
    let bytes = STANDARD
        .decode(value.unwrap_or_default())
        .unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn read(root: Element<'_>) -> Result<ResponseContent, String> {
    let shape = |error: assent_saml_core::xml::ShapeError| error.to_string();
    let status = root.child(STATUS).map_err(shape)?;
    let code = status.child(STATUS_CODE).map_err(shape)?;
    let value = |code: Element<'_>| code.attribute("Value").unwrap_or_default().to_owned();
    let second = code.optional_child(STATUS_CODE).map_err(shape)?.map(value);
    let words = status
        .optional_child(STATUS_MESSAGE)
        .map_err(shape)?
        .and_then(|text| text.text().ok());
    let mut text = value(code);
    for more in second.as_deref().into_iter().chain(words) {
        text = format!("{text}; {more}");
    }
    let mut content = ResponseContent {
        status: text,
        in_response_to: root.attribute("InResponseTo").map(str::to_owned),
        name_id: Value::Null,
        attributes: Vec::new(),
    };
    let Some(assertion) = root.optional_child(SAML.name("Assertion")).map_err(shape)? else {
        return Ok(content);
    };
    let name = assertion
        .child(SUBJECT)
        .and_then(|subject| subject.child(NAME_ID))
        .map_err(shape)?;
    content.name_id =
        json!({ "format": name.attribute("Format"), "value": name.text().map_err(shape)? });
    let statement = assertion
        .optional_child(SAML.name("AttributeStatement"))
        .map_err(shape)?;
    for attribute in statement.into_iter().flat_map(Element::children) {
        let values: Vec<&str> = attribute
            .children()
            .filter_map(|value| value.text().ok())
            .collect();
        content.attributes.push(json!({
            "name": attribute.attribute("Name"),
            "format": attribute.attribute("NameFormat"),
            "friendly_name": attribute.attribute("FriendlyName"),
            "values": values,
        }));
    }
    Ok(content)
}
