//! The parts of a schema.

/// The largest length of a member's name, in bytes.
pub(super) const LONGEST_NAME: usize = 64;
/// The largest length of a number, in characters.
const LONGEST_NUMBER: usize = 24;

/// The members of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ObjectSchema {
    pub(super) properties: Vec<Property>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) is_required: bool,
    pub(super) content: Content,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    Scalar(Scalar),
    List {
        elements: Scalar,
        least: u64,
        most: u64,
    },
    Object(ObjectSchema),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar {
    Text { least: u64, most: u64 },
    Choice(Vec<String>),
    Integer(Range),
}

/// The limits of a number, which belong to the range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) least: Option<i64>,
    pub(super) most: Option<i64>,
}

/// Returns the path of a member of the object with the path `parent`.
pub(super) fn path_of(parent: &str, name: &str) -> String {
    match parent.is_empty() {
        true => name.to_owned(),
        false => format!("{parent}.{name}"),
    }
}

impl Scalar {
    /// The largest length of its text, in characters.
    pub(super) fn longest(&self) -> usize {
        match self {
            Self::Text { most, .. } => usize::try_from(*most).unwrap_or(usize::MAX),
            Self::Choice(values) => {
                let lengths = values.iter().map(|value| value.chars().count());
                lengths.max().unwrap_or_default()
            }
            Self::Integer(_) => LONGEST_NUMBER,
        }
    }
}

/// Whether a text is the name of a member. A dot would make the paths of members ambiguous.
pub(super) fn is_member_name(text: &str) -> bool {
    (1..=LONGEST_NAME).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
