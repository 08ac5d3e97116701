//! What an application would be told about a person, without a sign-in: by the current plugins, or with a candidate
//! among them.

mod candidate;
mod comparison;
mod preview;

pub use candidate::TryCandidate;
pub use comparison::{Difference, PreviewComparison};
pub use preview::{
    ClaimOrigin, MapperStop, Preview, PreviewContent, PreviewRequest, PreviewedAccount,
    PreviewedName, PreviewedToken, ValueChange, preview, preview_of,
};
