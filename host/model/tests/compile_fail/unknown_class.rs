//! A field has an unknown class.

assent_model::admin_command! {
    pub struct UpdateUser {
        target user: u64,
        free name: String,
    }
}

fn main() {}
