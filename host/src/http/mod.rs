//! The edge: what a browser gets and sends.

pub mod assets;
pub mod pages;
