//! A new field of a body has no class.

assent_model::admin_command! {
    pub struct UserChange, protected ProtectedMembers {
        protected name: Option<String>,
        profile: Option<String>,
    }
}

fn main() {}
