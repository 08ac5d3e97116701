//! Plugins as the host runs them: the components that ship, and hostile ones.

mod channels;
mod check;
mod components;
mod mappers;
