//! Names and addresses have one form: each spelling that a user reads as the same name finds the same user, everywhere.

mod sign_in;

/// A letter and its mark as one character, and as two.
pub const COMPOSED: &str = "jos\u{e9}";
pub const DECOMPOSED: &str = "jose\u{301}";

/// The spellings of the name `josé` and of the address `josé@exämple.test`.
pub const NAMES: [&str; 5] = [
    COMPOSED,
    DECOMPOSED,
    "JOS\u{c9}",
    "\u{ff4a}\u{ff4f}\u{ff53}\u{e9}",
    "\u{200b}\u{feff}josé\u{200e}",
];
pub const ADDRESSES: [&str; 5] = [
    "josé@exämple.test",
    "jose\u{301}@exa\u{308}mple.test",
    "JOSÉ@EXÄMPLE.TEST",
    "josé@xn--exmple-cua.test",
    "josé\u{ff20}exämple\u{3002}test\u{200b}",
];
pub const ADDRESS: &str = "josé@xn--exmple-cua.test";
