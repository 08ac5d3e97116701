//! Pages in Markdown.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// A page.
pub struct Page {
    /// The path from the root of the repository.
    pub path: PathBuf,
    pub text: String,
    links: Vec<Link>,
    pub blocks: Vec<Block>,
    /// The anchors of the headings, as mdBook writes them.
    pub anchors: Vec<String>,
    paragraphs: Vec<String>,
}

/// A link of a page.
pub struct Link {
    pub target: String,
    pub line: usize,
}

/// A fenced block of code.
pub struct Block {
    /// The words after the fence, separated by commas: the language, and where the block is valid.
    pub info: Vec<String>,
    pub text: String,
    pub line: usize,
}

impl Block {
    pub fn language(&self) -> &str {
        self.info.first().map_or("", String::as_str)
    }

    /// Returns whether the block has this language and no other word.
    pub fn is_only(&self, language: &str) -> bool {
        self.info.len() == 1 && self.language() == language
    }
}

impl Page {
    pub fn parse(path: PathBuf, text: String) -> Self {
        let mut page = Self {
            path,
            links: Vec::new(),
            blocks: Vec::new(),
            anchors: Vec::new(),
            paragraphs: Vec::new(),
            text: String::new(),
        };
        let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        let (mut heading, mut block, mut paragraph) =
            (None::<String>, None::<Block>, None::<String>);
        for (event, range) in Parser::new_ext(&text, options).into_offset_iter() {
            let line = || text[..range.start].matches('\n').count() + 1;
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push(Link {
                        target: dest_url.into_string(),
                        line: line(),
                    });
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    let anchor = anchor(&heading.take().unwrap_or_default());
                    let count = counts.entry(anchor.clone()).or_default();
                    page.anchors.push(match *count {
                        0 => anchor,
                        count => format!("{anchor}-{count}"),
                    });
                    *count += 1;
                }
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                    let words = info.split(',').map(|word| word.trim().to_owned());
                    block = Some(Block {
                        info: words.collect(),
                        text: String::new(),
                        line: line(),
                    });
                }
                Event::End(TagEnd::CodeBlock) => page.blocks.extend(block.take()),
                Event::Start(Tag::Paragraph | Tag::Item) => paragraph = Some(String::new()),
                Event::End(TagEnd::Paragraph | TagEnd::Item) => {
                    page.paragraphs.extend(paragraph.take());
                }
                Event::Text(part) if block.is_some() => {
                    if let Some(block) = &mut block {
                        block.text.push_str(&part);
                    }
                }
                Event::Text(part) | Event::Code(part) => {
                    for open in [&mut heading, &mut paragraph].into_iter().flatten() {
                        open.push_str(&part);
                    }
                }
                Event::SoftBreak | Event::HardBreak => {
                    if let Some(paragraph) = &mut paragraph {
                        paragraph.push(' ');
                    }
                }
                _ => {}
            }
        }
        page.text = text;
        page
    }

    /// The file and line of a block, and its words.
    pub fn place(&self, block: &Block) -> String {
        format!("{}:{}: {:?}", self.path.display(), block.line, block.info)
    }

    pub fn links(&self) -> impl Iterator<Item = &Link> {
        self.links.iter()
    }

    /// Returns the commands of the page as a script that prints the name of each block before it runs. Returns `None`
    /// if the page has no commands.
    pub fn script(&self) -> Option<String> {
        let blocks = self.blocks.iter().filter(|block| block.is_only("sh"));
        let blocks: Vec<String> = blocks
            .map(|block| {
                let place = format!("{}:{}", self.path.display(), block.line);
                format!("echo '### {place}' >&2\n{}", block.text)
            })
            .collect();
        (!blocks.is_empty()).then(|| format!("set -euo pipefail\n{}", blocks.concat()))
    }

    /// Returns the sentences of paragraphs and lists. A point within a name such as `id.example.org` ends none.
    pub fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        for paragraph in &self.paragraphs {
            let mut sentence = Vec::new();
            for word in paragraph.split_whitespace() {
                sentence.push(word);
                if word.ends_with(['.', '?', '!', ':']) {
                    sentences.push(sentence.join(" "));
                    sentence.clear();
                }
            }
            sentences.push(sentence.join(" "));
        }
        sentences.retain(|sentence| !sentence.is_empty());
        sentences
    }
}

/// Returns the anchor of a heading (mdBook: lower case, spaces as hyphens, without other marks).
fn anchor(heading: &str) -> String {
    heading
        .trim()
        .to_lowercase()
        .chars()
        .filter_map(|character| match character {
            ' ' => Some('-'),
            '-' | '_' => Some(character),
            other => other.is_alphanumeric().then_some(other),
        })
        .collect()
}
