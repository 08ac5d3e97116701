//! Effective access: what grants which user access to which application, used or not.
//!
//! A list finds the users or the applications of a page first, by the indexes of each way to have access. Then one
//! statement reads the details of the page. So the cost of a page does not depend on the number of users.

mod counts;
mod details;
mod of_application;
mod of_group;
mod of_user;
mod search;
mod totals;

pub use counts::MOST_COUNTED;
pub(crate) use counts::count_users;
pub use details::EffectiveAccess;
pub use of_application::AccessFilter;
pub use of_group::{GroupApplication, MemberUse};
pub use totals::AccessTotals;
