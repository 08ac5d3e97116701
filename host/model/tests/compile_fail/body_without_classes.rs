//! The body of a command is defined without the macro, so its fields have no classes.

pub struct UserChange;

assent_model::admin_command! {
    pub struct UpdateUser {
        target user: u64,
        classified change: UserChange,
    }
}

fn main() {}
