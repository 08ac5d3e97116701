//! The credentials that the TLS handshake of a connection proved.

/// Marks the requests of connections on which the client authenticates in the TLS handshake.
#[derive(Clone, Copy, Debug)]
pub(super) struct HandshakeCredentials;
