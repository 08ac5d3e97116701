//! The source of an authorization request.

use assent_model::login::PushedRequestUse;

/// The way in which a request arrives.
#[derive(Clone, Copy, Debug)]
pub enum RequestSource {
    /// A browser has its parameters.
    Browser,
    /// The application pushes it.
    Pushing,
    /// The application pushed it before.
    Pushed(PushedRequestUse),
}
