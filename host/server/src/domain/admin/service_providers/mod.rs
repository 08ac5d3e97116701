//! SAML service providers.

mod certificates;
mod change;
mod commands;
mod described;
mod document;

pub use certificates::{
    ActivateCertificate, CertificateOf, IssueCertificate, WithdrawCertificate, saml_certificates,
};
pub use change::changed_service_provider;
pub use commands::service_provider;
pub use commands::{
    CreateServiceProvider, ServiceProviderUpdate, UpdateServiceProvider, replace_service_provider,
};
pub(super) use described::{default_service_provider, described_service_provider};
pub use document::{
    AcsChange, Saml, ServiceProviderChange, ServiceProviderDocument, SingleLogoutChange,
};
