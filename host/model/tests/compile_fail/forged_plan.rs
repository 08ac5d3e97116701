//! A use case makes a plan from its parts.

use assent_model::command::Planned;

fn main() {
    let _: Planned<(), ()> = Planned {
        plan: (),
        action: None,
    };
}
