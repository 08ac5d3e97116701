//! The imports between the files of a crate, as the compiler resolves them, and their cycles.
//!
//! An import is a path to an item of another file, in a `use` declaration or in code. A path through a re-export is an
//! import of two files: the one that the path names, and the one that defines the item. A re-export is no import, so a
//! `mod.rs` that only declares and re-exports its children imports none of them. Code under `#[cfg(test)]` does not
//! count.

use std::collections::{BTreeMap, BTreeSet};

/// The largest number of re-exports in a path. A longer chain refers to itself.
const HOPS: usize = 16;

/// A token of Rust code. Comments and literals are omitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    /// `::`
    Separator,
    Mark(char),
}

/// Returns the tokens of a text, each with its line, from 1.
fn tokens(text: &str) -> Vec<(usize, Token<'_>)> {
    let mut found = Vec::new();
    let mut line = 1;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if let Some(comment) = rest.strip_prefix("//") {
            2 + comment.find('\n').unwrap_or(comment.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = literal(rest) {
            length
        } else if first.is_alphanumeric() || first == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            let word = &rest[..end.unwrap_or(rest.len())];
            found.push((line, Token::Word(word)));
            word.len()
        } else if rest.starts_with("::") {
            found.push((line, Token::Separator));
            2
        } else {
            if !first.is_whitespace() {
                found.push((line, Token::Mark(first)));
            }
            first.len_utf8()
        };
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    found
}

/// Returns the length of the text or character literal at the start of the code.
fn literal(code: &str) -> Option<usize> {
    let plain = code.strip_prefix(['b', 'c']).unwrap_or(code);
    if let Some(raw) = plain.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if let Some(body) = raw[hashes..].strip_prefix('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let length = body.find(&end).map_or(body.len(), |at| at + end.len());
            return Some(code.len() - body.len() + length);
        }
    }
    let quote = plain.chars().next().filter(|c| ['"', '\''].contains(c))?;
    let body = &plain[1..];
    let is_escape = body.starts_with('\\');
    // A lifetime has no second quote after its first character.
    if quote == '\'' && !is_escape && body.chars().nth(1) != Some('\'') {
        return None;
    }
    let mut escaped = false;
    let end = body.find(|c: char| {
        let ends = c == quote && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    Some(code.len() - body.len() + end.map_or(body.len(), |at| at + 1))
}

/// A module, either a file or inline.
#[derive(Default)]
struct Module {
    /// The file that contains the module.
    file: String,
    /// The names that `use` declarations bind, with their paths.
    bindings: BTreeMap<String, Vec<String>>,
    /// The modules and enums from which all names are imported.
    globs: Vec<Vec<String>>,
    /// The names of the module's items.
    items: BTreeSet<String>,
}

/// A path in the code of a file.
struct Mention {
    module: String,
    path: Vec<String>,
    line: usize,
    /// Whether the path is in a `use` declaration. The import of a module does not use the module yet.
    is_declaration: bool,
}

/// The modules of a crate, and the paths in their code.
#[derive(Default)]
struct Crate {
    modules: BTreeMap<String, Module>,
    mentions: Vec<Mention>,
    /// The files with a declaration such as `pub use`.
    reexporting: BTreeSet<String>,
}

/// Returns the module of a file below `src`.
fn module_of(file: &str) -> String {
    let stem = file.trim_end_matches(".rs");
    let parts = stem
        .split('/')
        .filter(|part| !["mod", "lib", "main"].contains(part));
    ["crate"]
        .into_iter()
        .chain(parts)
        .collect::<Vec<_>>()
        .join("::")
}

impl Crate {
    /// Reads the files of a crate, by their paths below `src`.
    fn read(files: &BTreeMap<String, String>) -> Self {
        let mut read = Self::default();
        for file in files.keys() {
            let module = Module {
                file: file.clone(),
                ..Module::default()
            };
            read.modules.insert(module_of(file), module);
        }
        for (file, text) in files {
            let tokens = tokens(text);
            Reader {
                read: &mut read,
                file,
                tokens: &tokens,
                at: 0,
                is_reexport: false,
            }
            .module(&module_of(file));
        }
        read
    }

    /// Returns the module at the end of a path, and whether the path names that module itself.
    fn resolve(&self, path: &[String], hops: usize) -> Option<(&Module, bool)> {
        let mut at = path.first()?.clone();
        for (index, name) in path.iter().enumerate().skip(1) {
            let module = self.modules.get(&at)?;
            let child = format!("{at}::{name}");
            if self.modules.contains_key(&child) {
                at = child;
                continue;
            }
            let rest = &path[index + 1..];
            if let Some(bound) = module.bindings.get(name) {
                let path: Vec<String> = bound.iter().chain(rest).cloned().collect();
                return self.resolve(&path, hops.checked_sub(1)?);
            }
            if !module.items.contains(name) {
                // Two files may import all names of each other, so the limit also bounds this search.
                for glob in &module.globs {
                    let origin = self.resolve(glob, (hops / 4).checked_sub(1)?);
                    if let Some((origin, true)) = origin
                        && origin.items.contains(name)
                    {
                        return Some((origin, false));
                    }
                }
            }
            return Some((module, false));
        }
        Some((self.modules.get(&at)?, true))
    }

    /// Returns the module that a path names, without its re-exports.
    fn named(&self, path: &[String]) -> Option<&Module> {
        let mut at = path.first()?.clone();
        for name in &path[1..] {
            let child = format!("{at}::{name}");
            if !self.modules.contains_key(&child) {
                break;
            }
            at = child;
        }
        self.modules.get(&at)
    }

    /// Returns the lines in which each file imports another one.
    fn imports(&self) -> BTreeMap<(String, String), BTreeSet<usize>> {
        let mut imports: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for mention in &self.mentions {
            let Some((target, is_module)) = self.resolve(&mention.path, HOPS) else {
                continue;
            };
            if mention.is_declaration && is_module {
                continue;
            }
            let file = &self.modules[&mention.module].file;
            let named = self.named(&mention.path);
            for target in [Some(target), named].into_iter().flatten() {
                if *file != target.file {
                    let import = (file.clone(), target.file.clone());
                    imports.entry(import).or_default().insert(mention.line);
                }
            }
        }
        imports
    }
}

/// Reads the tokens of a file.
struct Reader<'a> {
    read: &'a mut Crate,
    file: &'a str,
    tokens: &'a [(usize, Token<'a>)],
    at: usize,
    /// Whether the current declaration has a visibility (`pub use`).
    is_reexport: bool,
}

impl<'a> Reader<'a> {
    fn peek(&self, ahead: usize) -> Option<Token<'a>> {
        self.tokens.get(self.at + ahead).map(|(_, token)| *token)
    }

    fn word(&self, ahead: usize) -> Option<&'a str> {
        match self.peek(ahead) {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).map_or(0, |(line, _)| *line)
    }

    fn own(&mut self, module: &str) -> &mut Module {
        self.read.modules.entry(module.to_owned()).or_default()
    }

    /// Reads until the brace that ends the module.
    fn module(&mut self, module: &str) {
        let mut depth = 0;
        while let Some(token) = self.peek(0) {
            match token {
                Token::Mark('{') => depth += 1,
                Token::Mark('}') if depth == 0 => return,
                Token::Mark('}') => depth -= 1,
                Token::Mark('#') if self.is_test() => {
                    self.skip_item();
                    continue;
                }
                Token::Word("mod") if self.peek(2) == Some(Token::Mark('{')) => {
                    let inner = format!("{module}::{}", self.word(1).unwrap_or_default());
                    self.own(&inner).file = self.file.to_owned();
                    self.at += 3;
                    self.module(&inner);
                }
                // A visibility such as `pub(in crate::a)` names a module above the file, and uses none of its items.
                Token::Word("pub") if self.word(2) == Some("in") => {
                    while !matches!(self.peek(0), None | Some(Token::Mark(')'))) {
                        self.at += 1;
                    }
                }
                // `impl Trait + use<'_>` is not a declaration.
                Token::Word("use") if self.peek(1) != Some(Token::Mark('<')) => {
                    let before = self.at.checked_sub(1).map(|at| self.tokens[at].1);
                    self.is_reexport =
                        matches!(before, Some(Token::Word("pub") | Token::Mark(')')));
                    self.at += 1;
                    self.declaration(module, &absolute(module, &[]));
                    continue;
                }
                Token::Word(
                    "struct" | "enum" | "union" | "trait" | "type" | "const" | "static" | "fn",
                ) => {
                    let name = self.word(1).unwrap_or_default().to_owned();
                    self.own(module).items.insert(name);
                }
                Token::Word(_) if self.peek(1) == Some(Token::Separator) => {
                    self.path(module);
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    fn is_test(&self) -> bool {
        [
            Token::Mark('#'),
            Token::Mark('['),
            Token::Word("cfg"),
            Token::Mark('('),
            Token::Word("test"),
            Token::Mark(')'),
            Token::Mark(']'),
        ]
        .into_iter()
        .enumerate()
        .all(|(ahead, expected)| self.peek(ahead) == Some(expected))
    }

    /// Skips an item with its attributes.
    fn skip_item(&mut self) {
        let mut depth = 0;
        while let Some(token) = self.peek(0) {
            self.at += 1;
            match token {
                Token::Mark('{' | '(' | '[') => depth += 1,
                Token::Mark(')' | ']') => depth -= 1,
                Token::Mark('}') => {
                    depth -= 1;
                    if depth == 0 {
                        return;
                    }
                }
                Token::Mark(';') if depth == 0 => return,
                _ => {}
            }
        }
    }

    /// Reads a path in code.
    fn path(&mut self, module: &str) {
        let line = self.line();
        let mut words = Vec::new();
        while let Some(word) = self.word(0) {
            words.push(word);
            self.at += 1;
            if self.peek(0) != Some(Token::Separator) {
                break;
            }
            self.at += 1;
        }
        self.read.mentions.push(Mention {
            module: module.to_owned(),
            path: absolute(module, &words),
            line,
            is_declaration: false,
        });
    }

    /// Reads the rest of a `use` declaration, or one branch of its tree.
    fn declaration(&mut self, module: &str, prefix: &[String]) {
        let line = self.line();
        let mut path = prefix.to_vec();
        let mut name = None;
        loop {
            match self.peek(0) {
                Some(Token::Mark('{')) => {
                    self.at += 1;
                    while !matches!(self.peek(0), None | Some(Token::Mark('}'))) {
                        self.declaration(module, &path);
                        if self.peek(0) == Some(Token::Mark(',')) {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                Some(Token::Mark('*')) => {
                    self.at += 1;
                    self.own(module).globs.push(path.clone());
                    name = Some("*");
                }
                Some(Token::Word("as")) => {
                    name = self.word(1);
                    self.at += 2;
                }
                Some(Token::Word(word)) => {
                    step(&mut path, word);
                    self.at += 1;
                }
                Some(Token::Separator) => self.at += 1,
                _ => break,
            }
        }
        let last = path.last().cloned().unwrap_or_default();
        let name = name.map_or(last, str::to_owned);
        // If a declaration binds its own first word, its path begins at another crate.
        let is_outside = path.len() == 2 && path.first().is_some_and(|first| first == module);
        let is_named = name != "*";
        if is_named && !is_outside {
            self.own(module).bindings.insert(name.clone(), path.clone());
        }
        if self.is_reexport {
            // `pub use name` exports a macro of the file itself.
            if !(is_named && is_outside) {
                self.read.reexporting.insert(self.file.to_owned());
            }
        } else {
            self.read.mentions.push(Mention {
                module: module.to_owned(),
                path,
                line,
                is_declaration: is_named,
            });
        }
    }
}

/// Returns a path from the root of the crate.
fn absolute(module: &str, words: &[&str]) -> Vec<String> {
    let mut path = vec![module.to_owned()];
    for word in words {
        step(&mut path, word);
    }
    path
}

/// Extends a path by one word.
fn step(path: &mut Vec<String>, word: &str) {
    let module = path.first().cloned().unwrap_or_default();
    match word {
        "crate" => *path = vec!["crate".to_owned()],
        "super" if path.len() == 1 => {
            let above = module.rsplit_once("::").map_or("crate", |(above, _)| above);
            *path = vec![above.to_owned()];
        }
        "self" => {}
        _ => path.push(word.to_owned()),
    }
}

/// Returns the cycles of imports in the Rust files of a crate, by their paths below `src`.
pub(super) fn rust_cycles(files: &BTreeMap<String, String>) -> Vec<Vec<String>> {
    cycles(files, &Crate::read(files).imports())
}

/// Returns the files of a crate that re-export names and hold code too, by their paths below `src`.
pub(super) fn reexports_beside_code(files: &BTreeMap<String, String>) -> Vec<String> {
    let crate_files = Crate::read(files);
    let has_code = |file: &str| {
        let mut own = crate_files.modules.values();
        own.any(|module| module.file == file && !module.items.is_empty())
    };
    let with_both = files
        .keys()
        .filter(|file| crate_files.reexporting.contains(*file) && has_code(file));
    with_both.cloned().collect()
}

/// Returns the cycles of imports in JavaScript modules, by their paths.
pub(super) fn javascript_cycles(files: &BTreeMap<String, String>) -> Vec<Vec<String>> {
    let mut imports: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (file, text) in files {
        let code = text.lines().enumerate().filter(|(_, line)| {
            let line = line.trim_start();
            !["//", "/*", "*"].iter().any(|mark| line.starts_with(mark))
        });
        for (index, line) in code {
            for from in [" from '", "import '", "import('"] {
                let named = line
                    .split_once(from)
                    .and_then(|(_, rest)| rest.split_once('\''));
                if let Some((relative, _)) = named {
                    let import = (file.clone(), beside(file, relative));
                    imports.entry(import).or_default().insert(index + 1);
                }
            }
        }
    }
    imports.retain(|(_, imported), _| files.contains_key(imported));
    cycles(files, &imports)
}

/// Returns the path of a file that another one names relative to its own folder.
fn beside(file: &str, relative: &str) -> String {
    let mut path: Vec<&str> = file.split('/').collect();
    path.pop();
    for part in relative.split('/') {
        match part {
            "." => {}
            ".." => {
                path.pop();
            }
            name => path.push(name),
        }
    }
    path.join("/")
}

/// Returns the groups of files that import each other. Each import has the form `file:line imports file`.
fn cycles(
    files: &BTreeMap<String, String>,
    imports: &BTreeMap<(String, String), BTreeSet<usize>>,
) -> Vec<Vec<String>> {
    let mut imported_by: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (importer, imported) in imports.keys() {
        imported_by.entry(importer).or_default().push(imported);
    }
    let mut reached: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in files.keys() {
        let mut open = vec![file.as_str()];
        let seen = reached.entry(file).or_default();
        while let Some(from) = open.pop() {
            let next = imported_by.get(from).into_iter().flatten();
            open.extend(next.filter(|imported| seen.insert(imported)));
        }
    }
    let reaches = |from: &str, to: &str| reached[from].contains(to);
    let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for ((importer, imported), lines) in imports {
        if reaches(imported, importer) {
            let first = files
                .keys()
                .find(|file| reaches(importer, file) && reaches(file, importer));
            let group = groups.entry(first.unwrap_or(importer)).or_default();
            group.extend(
                lines
                    .iter()
                    .map(|line| format!("{importer}:{line} imports {imported}")),
            );
        }
    }
    groups.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::{javascript_cycles, reexports_beside_code, rust_cycles};
    use std::collections::BTreeMap;

    /// The files with these paths and texts.
    fn files_of(files: &[(&str, &str)]) -> BTreeMap<String, String> {
        let files = files.iter();
        files
            .map(|(file, text)| ((*file).to_owned(), (*text).to_owned()))
            .collect()
    }

    fn cycles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        rust_cycles(&files_of(files))
    }

    #[test]
    fn a_parent_that_reexports_its_children_imports_none() {
        let parent = "mod a;\nmod b;\npub use a::A;\npub use b::B;\n";
        let files = [
            ("lib.rs", parent),
            ("a.rs", "pub struct A;\n"),
            ("b.rs", "use super::A;\npub struct B(A);\n"),
        ];
        assert_eq!(cycles_of(&files), Vec::<Vec<String>>::new());
        assert_eq!(
            reexports_beside_code(&files_of(&files)),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_parent_that_reexports_a_child_and_serves_it_is_a_cycle() {
        let files = [
            (
                "lib.rs",
                "mod a;\nmod b;\npub use a::A;\nfn f() { b::g(); }\n",
            ),
            ("a.rs", "pub struct A;\n"),
            ("b.rs", "use super::A;\npub fn g() {}\n"),
        ];
        assert_eq!(reexports_beside_code(&files_of(&files)), ["lib.rs"]);
        let cycles = cycles_of(&files);
        let [cycle] = cycles.as_slice() else {
            panic!("{cycles:?}")
        };
        assert!(cycle.contains(&"b.rs:1 imports lib.rs".to_owned()));
    }

    #[test]
    fn cycles_of_javascript_modules_are_detected() {
        let files = |back: &'static str| {
            files_of(&[
                ("console/main.js", "import { a } from './pages/a.js';\n"),
                (
                    "console/pages/a.js",
                    "import {\n  b,\n} from '../b.js';\nexport const a = b;\n",
                ),
                ("console/b.js", back),
            ])
        };
        for harmless in [
            "export const b = 1;\n",
            "/** @typedef {import('./pages/a.js').A} A */\nexport const b = 1;\n",
            "// from './pages/a.js'\nimport { c } from './c.js';\n",
        ] {
            let found = javascript_cycles(&files(harmless));
            assert_eq!(found, Vec::<Vec<String>>::new(), "{harmless}");
        }
        for back in [
            "import { a } from './pages/a.js';\n",
            "import './pages/a.js';\n",
            "const { a } = await import('./pages/a.js');\n",
            "export { a } from './pages/a.js';\n",
        ] {
            let found = javascript_cycles(&files(back));
            let expected = [
                "console/b.js:1 imports console/pages/a.js",
                "console/pages/a.js:3 imports console/b.js",
            ];
            assert_eq!(found, [expected], "{back}");
        }
    }

    #[test]
    fn cycles_are_detected_through_reexports_uses_paths_and_globs() {
        let parent = "mod a;\nmod b;\npub use a::A;\npub use b::*;\n";
        for back in [
            "use super::B;\npub struct A;\n",
            "use crate::{b::{self, B}};\npub struct A;\n",
            "pub struct A;\nfn f() { crate::b::g(); }\n",
            "use crate::b;\npub struct A;\nfn f() { b::g(); }\n",
            "use super::*;\nuse crate::b;\npub struct A;\nfn f() { b::g(); }\n",
        ] {
            let files = [
                ("lib.rs", parent),
                ("a.rs", back),
                ("b.rs", "use super::A;\npub struct B(A);\npub fn g() {}\n"),
            ];
            let cycles = cycles_of(&files);
            let [cycle] = cycles.as_slice() else {
                panic!("{back}: {cycles:?}")
            };
            assert!(cycle.contains(&"b.rs:1 imports a.rs".to_owned()), "{back}");
        }
    }

    #[test]
    fn a_visibility_imports_nothing() {
        let files = [
            ("lib.rs", "mod a;\n"),
            ("a.rs", "mod b;\npub use b::B;\nfn f(_: B) {}\n"),
            ("a/b.rs", "pub(in crate::a) struct B;\n"),
        ];
        assert_eq!(cycles_of(&files), Vec::<Vec<String>>::new());
    }

    #[test]
    fn tests_comments_and_strings_import_nothing() {
        let a = "pub struct A;\n// crate::b::g()\nconst T: &str = \"crate::b::g()\";\n\
                 fn f<'a>(c: char) -> bool { c == '\"' }\n\
                 #[cfg(test)]\nmod tests {\n    use crate::b::g;\n}\n";
        let files = [
            ("lib.rs", "mod a;\nmod b;\n"),
            ("a.rs", a),
            ("b.rs", "use crate::a::A;\npub fn g() {}\n"),
        ];
        assert_eq!(cycles_of(&files), Vec::<Vec<String>>::new());
    }
}
