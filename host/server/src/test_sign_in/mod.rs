//! Test sign-ins: the server stands in for the application, as an OpenID Connect client or as a SAML service provider.
//! It makes the request, and takes the answer at its own address. All between is the code that serves applications.

pub mod oidc;
pub mod saml;
mod start;

pub use start::{StartTestSignIn, StartedTestSignIn};
