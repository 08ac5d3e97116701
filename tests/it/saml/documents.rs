//! Random documents, reproducible by their seed.

use std::collections::HashSet;

/// A pseudorandom number generator (SplitMix64).
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`.
    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(super) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(super) fn one_of<'a, T>(&mut self, values: &'a [T]) -> &'a T {
        &values[self.below(values.len())]
    }
}

const PREFIXES: [&str; 6] = ["", "a", "b", "c", "é", "xs"];
/// Namespaces as written, and their values. None contains an ampersand, which libxml2 2.9 writes as `&#38;`.
const NAMESPACES: [(&str, &str); 7] = [
    ("urn:a", "urn:a"),
    ("urn:b", "urn:b"),
    ("urn:&#98;", "urn:b"),
    ("urn:B", "urn:B"),
    (
        "http://www.w3.org/2001/XMLSchema",
        "http://www.w3.org/2001/XMLSchema",
    ),
    ("http://x.example/?a=&apos;1", "http://x.example/?a='1"),
    ("URN:a", "URN:a"),
];
/// Names whose order by bytes differs from the order in UTF-16.
const NAMES: [&str; 9] = [
    "a",
    "b",
    "B",
    "a-1",
    "a.b",
    "_",
    "ü",
    "\u{ff5a}",
    "\u{10000}x",
];
const VALUES: [&str; 24] = [
    "x",
    "Ada",
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\r",
    "&#9;",
    "&#xA;",
    "&#13;",
    "&#x20;",
    "&amp;",
    "&lt;",
    "&gt;",
    ">",
    "&quot;",
    "&apos;",
    "é",
    "\u{1f600}",
    "&#x1F600;",
    "\u{2028}\u{85}",
    "\u{fffd}",
    "xs:string",
];
const TEXTS: [&str; 8] = [
    "\"'",
    "]]x",
    "<![CDATA[<&>]]>",
    "<![CDATA[]]>",
    "<![CDATA[ ]] \r\n]]>",
    "]]&gt;",
    "\u{7f}",
    "=",
];
const BLANKS: [&str; 7] = [
    " ",
    "\n  ",
    "\r\n\t",
    "&#32;",
    "<!-- a > b -->",
    "<!--é-\r\n-->",
    "<![CDATA[ ]]>",
];

/// The namespace declarations in scope of an element, the innermost last: the prefix and the name of the namespace.
type Scope = Vec<(&'static str, &'static str)>;

/// Returns a document that every parser accepts.
pub(super) fn document(dice: &mut Dice) -> String {
    let mut writer = Random {
        dice,
        out: String::new(),
        left: 40,
        left_out: false,
    };
    if writer.dice.once_in(10) {
        writer.out.push('\u{feff}');
    }
    writer.any_of(&[
        "",
        "",
        "<?xml version='1.0'?>",
        "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\" ?>\r\n",
        "<!-- before -->\n",
    ]);
    writer.element(&Vec::new(), 0);
    writer.any_of(&["", "\n", "\r\n<!-- behind -->"]);
    writer.out
}

/// Returns an element without a document around it.
pub(super) fn element(dice: &mut Dice) -> String {
    let mut writer = Random {
        dice,
        out: String::new(),
        left: 40,
        left_out: true,
    };
    writer.element(&Vec::new(), 0);
    writer.out
}

/// Returns the document with a random change. In most cases the result is no valid document.
pub(super) fn damaged(dice: &mut Dice, document: &str) -> String {
    let chars: Vec<char> = document.chars().collect();
    let at = dice.below(chars.len());
    let removed = dice.below(4).min(chars.len() - at);
    let added = *dice.one_of(&[
        "",
        "",
        "<",
        ">",
        "/",
        "'",
        "\"",
        "&",
        ";",
        "=",
        " ",
        ":",
        "xmlns:a='urn:c' ",
        "xmlns='' ",
        "a:",
        "x='1' ",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<x>",
        "</x>",
        "<x/>",
        "&#x41;",
        "&#0;",
        "&x;",
        "\0",
        "é",
        "-",
        "\u{fffe}",
    ]);
    let (before, after) = (chars[..at].iter(), chars[at + removed..].iter());
    before
        .copied()
        .chain(added.chars())
        .chain(after.copied())
        .collect()
}

struct Random<'d> {
    dice: &'d mut Dice,
    out: String,
    /// The number of elements that may still follow.
    left: usize,
    left_out: bool,
}

impl Random<'_> {
    fn any_of(&mut self, texts: &[&str]) {
        let text = self.dice.one_of(texts);
        self.out.push_str(text);
    }

    fn element(&mut self, outer: &Scope, depth: usize) {
        self.left = self.left.saturating_sub(1);
        let mut scope = outer.clone();
        let mut tag = self.declarations(&mut scope);
        let (prefix, _) = self.prefix(&scope, true);
        let mut local = *self.dice.one_of(&NAMES);
        if depth > 0 && !self.left_out && self.dice.once_in(20) {
            (local, self.left_out) = ("left-out", true);
        }
        let name = if prefix.is_empty() {
            local.to_owned()
        } else {
            format!("{prefix}:{local}")
        };
        tag.extend(self.attributes(&scope));
        self.out.push('<');
        self.out.push_str(&name);
        // Declarations and attributes in any order.
        while !tag.is_empty() {
            let next = tag.swap_remove(self.dice.below(tag.len()));
            self.any_of(&[" ", "\n ", "\r\n", "\t"]);
            self.out.push_str(&next);
        }
        self.any_of(&["", "", " ", "\n"]);
        if self.dice.once_in(4) {
            self.out.push_str("/>");
            return;
        }
        self.out.push('>');
        // Comments occur only between elements, so an element contains either comments or text.
        let blank = self.dice.once_in(3);
        for _ in 0..self.dice.below(5) {
            match self.dice.below(3) {
                0 if depth < 12 && self.left > 0 => self.element(&scope, depth + 1),
                _ if blank => self.any_of(&BLANKS),
                1 => self.any_of(&TEXTS),
                _ => {
                    let value = self.value();
                    self.out.push_str(&value);
                }
            }
        }
        self.out.push_str("</");
        self.out.push_str(&name);
        self.any_of(&["", "", " ", "\r\n"]);
        self.out.push('>');
    }

    fn declarations(&mut self, scope: &mut Scope) -> Vec<String> {
        let mut written = Vec::new();
        let mut declared = HashSet::new();
        for _ in 0..self.dice.below(4) {
            let prefix = *self.dice.one_of(&PREFIXES);
            let (as_written, uri) = match prefix {
                "" if self.dice.once_in(3) => ("", ""),
                _ => *self.dice.one_of(&NAMESPACES),
            };
            if declared.insert(prefix) {
                scope.push((prefix, uri));
                let name = if prefix.is_empty() {
                    "xmlns".to_owned()
                } else {
                    format!("xmlns:{prefix}")
                };
                written.push(self.assigned(&name, as_written));
            }
        }
        written
    }

    /// Returns a prefix in scope, and its namespace.
    fn prefix(&mut self, scope: &Scope, is_element: bool) -> (&'static str, &'static str) {
        let (prefix, _) = *self.dice.one_of(&[&[("", "")], scope.as_slice()].concat());
        match prefix {
            "" if !is_element => ("", ""),
            _ => *scope
                .iter()
                .rev()
                .find(|(other, _)| *other == prefix)
                .unwrap_or(&("", "")),
        }
    }

    fn attributes(&mut self, scope: &Scope) -> Vec<String> {
        let mut written = Vec::new();
        let mut names = HashSet::new();
        for _ in 0..self.dice.below(5) {
            let (prefix, uri) = self.prefix(scope, false);
            let (prefix, uri, local) = match self.dice.below(8) {
                0 => (
                    "xml",
                    "xml",
                    *self.dice.one_of(&["lang", "space", "base", "x"]),
                ),
                _ => (prefix, uri, *self.dice.one_of(&NAMES)),
            };
            if names.insert((uri, local)) {
                let name = if prefix.is_empty() {
                    local.to_owned()
                } else {
                    format!("{prefix}:{local}")
                };
                let mut value = self.value();
                if (prefix, local) == ("xml", "space") {
                    value = "preserve".to_owned();
                }
                written.push(self.assigned(&name, &value));
            }
        }
        written
    }

    fn assigned(&mut self, name: &str, value: &str) -> String {
        let quote = *self.dice.one_of(&['"', '\'']);
        let equals = *self.dice.one_of(&["=", "=", " = ", "\n=\r\n"]);
        format!("{name}{equals}{quote}{value}{quote}")
    }

    fn value(&mut self) -> String {
        (0..self.dice.below(5))
            .map(|_| *self.dice.one_of(&VALUES))
            .collect()
    }
}
