//! A field has a class that there is not.

assent_model::admin_command! {
    pub struct UpdateUser {
        target user: u64,
        free name: String,
    }
}

fn main() {}
