//! Test sign-ins: the server acts in place of the application, as an OpenID Connect client or as a SAML service
//! provider. It creates the request, and receives the response at its own address. All code in between is the code for
//! applications.

pub mod oidc;
pub mod saml;
mod start;

pub use start::{StartTestSignIn, StartedTestSignIn};
