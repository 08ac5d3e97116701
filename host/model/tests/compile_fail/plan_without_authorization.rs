//! A use case plans without the checks of the caller.

use assent_model::command::Planned;

fn main() {
    let _: Planned<(), ()> = Planned::harmless(());
}
