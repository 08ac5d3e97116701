//! Client authentication with the certificate of the connection (RFC 8705 section 2).

use crate::domain::Services;
use crate::keys::client::certificate_is_in_time;
use crate::keys::client_authorities::CertificateDenied;
use crate::oidc::error::Reason;
use assent_model::certificate_name::CertificateName;
use assent_model::client_auth::{CertificateIdentity, RegisteredCertificates};

const NOT_IN_TIME: Reason = "the client certificate is not valid at this time";

/// The certificate whose key the client proved to hold.
#[derive(Clone, Copy, Debug)]
pub struct PresentedCertificate<'a> {
    /// The certificate, DER.
    pub der: &'a [u8],
    /// The further certificates that came with it, DER. They have no trust of their own.
    pub intermediates: &'a [Vec<u8>],
}

/// Verifies that the certificate of the connection is that of the application.
pub(super) fn verify(
    services: &Services,
    identity: &CertificateIdentity,
    presented: Option<PresentedCertificate<'_>>,
) -> Result<(), Reason> {
    let Some(presented) = presented else {
        return Err(
            "the connection has no client certificate; use the addresses of mtls_endpoint_aliases",
        );
    };
    match identity {
        CertificateIdentity::Registered(registered) => {
            verify_registered(services, registered, presented.der)
        }
        CertificateIdentity::Named(name) => verify_name(services, name, presented),
    }
}

fn verify_registered(
    services: &Services,
    registered: &RegisteredCertificates,
    der: &[u8],
) -> Result<(), Reason> {
    if !registered.contain(der) {
        return Err("the client certificate is not the one that is registered");
    }
    match certificate_is_in_time(der, services.now().seconds()) {
        true => Ok(()),
        false => Err(NOT_IN_TIME),
    }
}

fn verify_name(
    services: &Services,
    name: &CertificateName,
    presented: PresentedCertificate<'_>,
) -> Result<(), Reason> {
    let Some(authorities) = &services.client_authorities else {
        return Err(
            "this server has no authorities for client certificates (http.mtls.authorities_file)",
        );
    };
    authorities
        .verify(presented.der, presented.intermediates, name)
        .map_err(|denied| match denied {
            CertificateDenied::Untrusted => {
                "no authority of this server issued the client certificate, or an intermediate certificate is missing"
            }
            CertificateDenied::NotInTime => NOT_IN_TIME,
            CertificateDenied::Purpose => {
                "the client certificate is not for client authentication (extended key usage)"
            }
            CertificateDenied::OtherName => {
                "the client certificate lacks the name that is registered for the application"
            }
        })
}
