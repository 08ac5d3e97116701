//! A use case creates a plan without the checks of the caller.

use assent_model::command::AuthorizedPlan;

fn main() {
    let _: AuthorizedPlan<(), ()> = AuthorizedPlan::harmless(());
}
