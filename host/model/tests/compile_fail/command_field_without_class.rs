//! A new field of a command has no class.

assent_model::admin_command! {
    pub struct UpdateUser {
        target user: u64,
        name: String,
    }
}

fn main() {}
