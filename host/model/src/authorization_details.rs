//! Authorization details (RFC 9396): the permission that an application requests from a user, such as one payment.
//!
//! An administrator registers each type with a schema and with a text for each language. A text shows every member of
//! its schema, so a user, and a device that signs, see the whole permission. No value is cut.

mod content;
pub mod granted;
pub mod name;
pub mod requested;
pub mod schema;
pub mod shown;
pub mod template;
pub mod type_definition;
pub mod values;

#[cfg(test)]
mod tests;
