//! Plugins in the instance: the shipped components, and hostile ones.

mod attributes;
pub(crate) mod authoring;
mod channels;
mod check;
mod claim_map;
pub(crate) mod components;
mod dev;
mod explain;
mod fairness;
mod mappers;
mod preview;
mod reload;
mod results;
mod tool;
