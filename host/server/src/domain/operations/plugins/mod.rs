//! The operator's plugins: their settings, their files, and their exchange while the server serves.

pub mod exchange;
pub mod reloads;
pub mod specs;
