//! Applications: OpenID Connect clients, and the common parts of both protocols.

mod authentication;
mod backchannel_delivery;
mod change;
mod commands;
mod described;
mod document;
mod information;
mod queries;
mod secrets;
mod self_registration;
mod values;

pub use commands::{CreateClient, DeleteApplication, UpdateClient};
pub(super) use described::{authorize_description, described_client};
pub use document::{ClientChange, ClientDocument, OpenIdConnect};
pub use queries::{
    ApplicationQuery, application, application_usage, applications, find_applications,
    registered_application, registration_sources,
};
pub use secrets::{
    ClientSecretUse, CreateClientSecret, DeleteClientSecret, NewClientSecret, RotateClientSecret,
    client_secrets,
};
pub use self_registration::{
    RegisteredClient, RegistrationRequest, client_registration, count_client_update,
    count_registration_attempt, delete_registered_client, delete_unused_registrations,
    must_have_quota, register_client, registration_token, take_back_registration_attempt,
    update_registered_client,
};
pub(super) use values::{application_name, recipe_id, require_known_scopes, server_address};
