//! A command is defined without the macro, so its fields have no classes.

use assent_model::command::Classified;

struct DeleteUser;

fn run(_: impl Classified) {}

fn main() {
    run(DeleteUser);
}
