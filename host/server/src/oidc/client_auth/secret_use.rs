//! The last use of client secrets.

use crate::domain::services::Services;
use assent_model::application::Application;
use assent_model::id::ClientSecretId;

/// Records in memory that the application used this secret. A request of a disabled application counts too, because it
/// shows that a client still has the secret.
pub(super) fn note_use(services: &Services, application: &Application, secret: ClientSecretId) {
    services
        .store
        .note_client_secret_use(&application.id, secret, services.now());
}
