//! A use case creates a plan from its parts.

use assent_model::command::AuthorizedPlan;

fn main() {
    let _: AuthorizedPlan<(), ()> = AuthorizedPlan {
        plan: (),
        action: None,
    };
}
