//! A preview of the claims about a user that an application would receive, without a sign-in. The claims come from the
//! current plugins, or from a candidate among them.

mod candidate;
mod comparison;
mod preview;

pub use candidate::TryCandidate;
pub use comparison::{Difference, PreviewComparison};
pub use preview::{
    ClaimOrigin, MapperStop, Preview, PreviewContent, PreviewRequest, PreviewedAccount,
    PreviewedName, PreviewedToken, ValueChange, preview, preview_of,
};
