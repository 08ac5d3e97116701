//! Effective access: the lists say what a sign-in decides, with the grants, their start and the last use.

mod decision;
mod lists;
mod selection;
