//! Values that can be used once: links, codes, challenges, numbers and tokens.

mod browser;
mod cells;
mod links;
mod repeats;
mod scanners;
