//! What commands of administrators have in common: the plan, which needs an authorization, and the fields of a request, each protected or
//! harmless.

use serde::Serialize;
use serde_json::Value;

use crate::caller::Authorization;

/// A plan that the caller may execute, and the protected action that it is, if it is one.
///
/// There is no plan without an [`Authorization`], which only the checks of [`Caller`](crate::caller::Caller) return:
///
/// ```
/// use assent_model::caller::Authorization;
/// use assent_model::command::Planned;
/// fn planned(authorization: Authorization) -> AuthorizedPlan<(), ()> {
///     AuthorizedPlan::harmless(authorization, ())
/// }
/// ```
///
/// ```compile_fail
/// use assent_model::caller::Authorization;
/// use assent_model::command::Planned;
/// fn planned() -> AuthorizedPlan<(), ()> {
///     AuthorizedPlan::harmless(Authorization(()), ())
/// }
/// ```
///
/// ```compile_fail
/// use assent_model::command::Planned;
/// fn planned() -> AuthorizedPlan<(), ()> {
///     AuthorizedPlan { plan: (), action: None }
/// }
/// ```
#[derive(Debug)]
pub struct AuthorizedPlan<P, A> {
    plan: P,
    action: Option<A>,
}

impl<P, A> AuthorizedPlan<P, A> {
    /// A plan that needs no approval.
    pub fn harmless(authorization: Authorization, plan: P) -> Self {
        Self::new(authorization, plan, None)
    }

    /// A plan that needs an approval in the console.
    pub fn protected(authorization: Authorization, plan: P, action: A) -> Self {
        Self::new(authorization, plan, Some(action))
    }

    /// A plan that needs an approval in the console if there is a protected action.
    pub fn new(_: Authorization, plan: P, action: Option<A>) -> Self {
        Self { plan, action }
    }

    /// The plan.
    pub fn into_plan(self) -> P {
        self.plan
    }

    /// The protected action, if the plan is one.
    pub const fn action(&self) -> Option<&A> {
        self.action.as_ref()
    }

    /// The plan and the protected action.
    pub fn into_parts(self) -> (P, Option<A>) {
        (self.plan, self.action)
    }
}

/// A member of a command that a request sent.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its name in the admin API.
    pub name: &'static str,
    /// Its value.
    pub value: Value,
    /// Whether it needs an approval.
    pub is_protected: bool,
}

/// A field of a command, which a request may leave out.
pub trait Field {
    /// The value that was sent, if one was.
    fn sent(&self) -> Option<Value>;
}

impl<T: Serialize> Field for Option<T> {
    fn sent(&self) -> Option<Value> {
        let value = self.as_ref()?;
        Some(serde_json::to_value(value).unwrap_or_default())
    }
}

impl Field for String {
    fn sent(&self) -> Option<Value> {
        Some(Value::from(self.as_str()))
    }
}

/// Defines the body of a command. Each field is `protected`, so that the use case must look at it, or `harmless`.
///
/// The use case reads the protected fields from the second struct, and names each of them: with a new one it does not compile.
///
/// ```
/// assent_model::admin_command! {
///     #[derive(Default, serde::Serialize)]
///     pub struct UserChange, protected ProtectedMembers {
///         protected name: Option<String>,
///         harmless profile: Option<String>,
///     }
/// }
/// let change = UserChange { name: None, profile: Some("ada".to_owned()) };
/// let ProtectedMembers { name } = change.protected();
/// assert!(name.is_none());
/// assert_eq!(change.members().len(), 1);
/// ```
///
/// A field without a class does not compile:
///
/// ```compile_fail
/// assent_model::admin_command! {
///     #[derive(Default, serde::Serialize)]
///     pub struct UserChange, protected ProtectedMembers {
///         protected name: Option<String>,
///         profile: Option<String>,
///     }
/// }
/// ```
///
/// Nor does a use case that overlooks a protected field:
///
/// ```compile_fail
/// assent_model::admin_command! {
///     #[derive(Default, serde::Serialize)]
///     pub struct UserChange, protected ProtectedMembers {
///         protected name: Option<String>,
///         protected profile: Option<String>,
///     }
/// }
/// let change = UserChange { name: None, profile: None };
/// let ProtectedMembers { name } = change.protected();
/// ```
#[macro_export]
macro_rules! admin_command {
    (@fields $head:tt {$($all:tt)*} {$($protected:tt)*} {$($members:tt)*}
        $(#[$($meta:tt)*])* protected $field:ident: $type:ty, $($rest:tt)*) => {
        $crate::admin_command! {
            @fields $head
            {$($all)* $(#[$($meta)*])* pub $field: $type,}
            {$($protected)* ($field: $type)}
            {$($members)* ($field: true)}
            $($rest)*
        }
    };
    (@fields $head:tt {$($all:tt)*} $protected:tt {$($members:tt)*}
        $(#[$($meta:tt)*])* harmless $field:ident: $type:ty, $($rest:tt)*) => {
        $crate::admin_command! {
            @fields $head
            {$($all)* $(#[$($meta)*])* pub $field: $type,}
            $protected
            {$($members)* ($field: false)}
            $($rest)*
        }
    };
    (@fields $head:tt $all:tt $protected:tt $members:tt
        $(#[$($meta:tt)*])* $field:ident: $type:ty, $($rest:tt)*) => {
        compile_error!(concat!("classify the field `", stringify!($field), "` as `protected` or `harmless`"));
    };
    (@fields [$(#[$($meta:tt)*])* $vis:vis $name:ident $borrowed:ident]
        {$($all:tt)*} {$(($field:ident: $type:ty))*} {$(($member:ident: $class:literal))*}) => {
        $(#[$($meta)*])*
        $vis struct $name {
            $($all)*
        }

        /// The fields that may need an approval.
        #[derive(Clone, Copy)]
        $vis struct $borrowed<'a> {
            $(#[allow(missing_docs, reason = "see the command")] pub $field: &'a $type,)*
        }

        impl $name {
            /// The fields that may need an approval.
            pub fn protected(&self) -> $borrowed<'_> {
                $borrowed { $($field: &self.$field,)* }
            }

            /// The fields that the request sent.
            pub fn members(&self) -> Vec<$crate::command::Member> {
                let sent = [$((stringify!($member), $crate::command::Field::sent(&self.$member), $class),)*];
                sent.into_iter()
                    .filter_map(|(name, value, is_protected)| {
                        Some($crate::command::Member { name, value: value?, is_protected })
                    })
                    .collect()
            }
        }
    };
    ($(#[$($meta:tt)*])* $vis:vis struct $name:ident, protected $borrowed:ident { $($fields:tt)* }) => {
        $crate::admin_command! { @fields [$(#[$($meta)*])* $vis $name $borrowed] {} {} {} $($fields)* }
    };
}
