//! The authenticator, its API, and recovery.
//!
//! The web app is at `/authenticator`, the API below `/authenticator/api`. `routes` has the operations of the API, each
//! with its errors; `openapi` creates the OpenAPI document from them.

mod device;
mod device_api_error;
mod enrolments;
mod error_code;
mod history;
mod openapi;
mod own_devices;
mod passkeys;
pub(crate) mod recover;
mod request_view;
mod requests;
mod routes;
mod signed_call;
mod web_app;

pub(crate) use device::PushBody;
pub(crate) use device_api_error::DeviceApiError;
pub(crate) use device_api_error::parse;
pub(crate) use enrolments::{
    EnrolledDevice, EnrolmentBody, EnrolmentPreview, EnrolmentToken, qr_code,
};
pub(crate) use error_code::ErrorCode;
pub use openapi::text as openapi_document;
pub(crate) use requests::DecisionOutcome;
pub(crate) use routes::{limit_failures, routes};
pub(crate) use signed_call::SignedCall;
pub(crate) use web_app::app;
