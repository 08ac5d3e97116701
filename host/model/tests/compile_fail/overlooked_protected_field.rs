//! A use case overlooks a new protected field.

assent_model::admin_command! {
    pub struct UserChange, protected ProtectedMembers {
        protected name: Option<String>,
        protected email: Option<String>,
    }
}

fn main() {
    let change = UserChange {
        name: None,
        email: None,
    };
    let ProtectedMembers { name: _ } = change.protected();
}
