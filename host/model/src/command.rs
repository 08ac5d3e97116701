//! The common parts of administrators' commands. A plan requires an authorization. Each field of a request has a class.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Number, Value};

use crate::caller::Authorization;

/// A plan that the caller may execute, and its protected action, if it is one.
///
/// A plan requires an [`Authorization`], which only the checks of [`Caller`](crate::caller::Caller) return:
///
/// ```
/// use assent_model::caller::Authorization;
/// use assent_model::command::AuthorizedPlan;
/// fn planned(authorization: Authorization) -> AuthorizedPlan<(), ()> {
///     AuthorizedPlan::harmless(authorization, ())
/// }
/// ```
///
/// ```compile_fail
/// use assent_model::command::AuthorizedPlan;
/// fn planned() -> AuthorizedPlan<(), ()> {
///     AuthorizedPlan { plan: (), action: None }
/// }
/// ```
///
/// `tests/compile_fail` contains further code that does not compile, with the errors.
#[derive(Debug)]
pub struct AuthorizedPlan<P, A> {
    plan: P,
    action: Option<A>,
}

impl<P, A> AuthorizedPlan<P, A> {
    /// Returns a plan that needs no approval.
    pub fn harmless(authorization: Authorization, plan: P) -> Self {
        Self::new(authorization, plan, None)
    }

    /// Returns a plan that needs an approval in the console.
    pub fn protected(authorization: Authorization, plan: P, action: A) -> Self {
        Self::new(authorization, plan, Some(action))
    }

    /// Returns a plan that needs an approval in the console if `action` is present.
    pub fn new(_: Authorization, plan: P, action: Option<A>) -> Self {
        Self { plan, action }
    }

    /// Returns the plan.
    pub fn into_plan(self) -> P {
        self.plan
    }

    /// Returns the protected action, if the plan is one.
    pub const fn action(&self) -> Option<&A> {
        self.action.as_ref()
    }

    /// Returns the plan and the protected action.
    pub fn into_parts(self) -> (P, Option<A>) {
        (self.plan, self.action)
    }
}

/// A member of a command that a request contained.
#[derive(Clone, Debug)]
pub struct Member {
    /// The name in the admin API.
    pub name: &'static str,
    /// The value, for the summary.
    pub value: MemberValue,
    /// Who may set it, and how.
    pub class: MemberClass,
}

/// A member of a change, without a value.
#[derive(Clone, Copy, Debug)]
pub struct MemberDescription {
    /// The name in the admin API.
    pub name: &'static str,
    /// Who may set it, and how.
    pub class: MemberClass,
    /// Whether a sentence of the summary explains it, so that the list of members omits its value.
    pub is_explained: bool,
}

impl MemberDescription {
    /// Adds a value that a request contains.
    pub fn with_value(&self, value: MemberValue) -> Member {
        Member {
            name: self.name,
            value: match self.is_explained {
                true => MemberValue::Unlisted,
                false => value,
            },
            class: self.class,
        }
    }
}

/// The class of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberClass {
    /// It never needs an approval.
    Harmless,
    /// It may need an approval.
    Protected,
    /// It may need an approval, and only an owner may set it.
    OwnerOnly,
}

/// The value of a member for the list in a summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberValue {
    /// The value is not listed, because a sentence of the summary explains it, or it is neither a word nor a list of
    /// words.
    Unlisted,
    /// The request removes the value.
    Removed,
    /// A text.
    Text(String),
    /// Texts.
    Texts(Vec<String>),
    /// A boolean.
    Flag(bool),
    /// A number.
    Number(Number),
}

impl From<Value> for MemberValue {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Removed,
            Value::Bool(flag) => Self::Flag(flag),
            Value::Number(number) => Self::Number(number),
            Value::String(text) => Self::Text(text),
            Value::Array(all) if all.iter().all(Value::is_string) => {
                let texts = all.iter().filter_map(Value::as_str).map(str::to_owned);
                Self::Texts(texts.collect())
            }
            Value::Array(_) | Value::Object(_) => Self::Unlisted,
        }
    }
}

/// A field of a command, which a request may omit.
pub trait Field {
    /// Returns the received value, if the request contained one.
    fn sent(&self) -> Option<MemberValue>;
}

impl<T: Serialize> Field for Option<T> {
    fn sent(&self) -> Option<MemberValue> {
        let value = self.as_ref()?;
        Some(serde_json::to_value(value).map_or(MemberValue::Unlisted, MemberValue::from))
    }
}

impl Field for String {
    fn sent(&self) -> Option<MemberValue> {
        Some(MemberValue::Text(self.clone()))
    }
}

/// The body of a change, which may omit each of its members. [`admin_command!`](crate::admin_command) implements it.
pub trait Change {
    /// All of its members.
    const MEMBERS: &[MemberDescription];

    /// Returns the members that the request contained.
    fn sent_members(&self) -> Vec<Member>;
}

/// Returns whether `null` removes this member of a change (RFC 7396).
pub fn null_removes<T: Change + DeserializeOwned>(member: &str) -> bool {
    let sent = Value::Object(Map::from_iter([(member.to_owned(), Value::Null)]));
    let change = serde_json::from_value::<T>(sent);
    change.is_ok_and(|change| has_member(&change, member))
}

/// Returns the first member that a request sets to `null`, but that cannot be removed. Without this check, the server
/// would keep the value and report success.
pub fn unremovable_member<'a>(
    change: &impl Change,
    sent: &'a Map<String, Value>,
) -> Option<&'a str> {
    let mut nulls = sent.iter().filter(|(_, value)| value.is_null());
    let (name, _) = nulls.find(|(name, _)| !has_member(change, name))?;
    Some(name)
}

fn has_member(change: &impl Change, name: &str) -> bool {
    let sent = change.sent_members();
    sent.iter().any(|member| member.name == name)
}

/// Deserializes a member that `null` removes (RFC 7396). It distinguishes `null` from a missing member.
///
/// # Errors
/// If the value has another type.
pub fn removable<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Some)
}

/// Deserializes a member that is empty if `null` removes it (RFC 7396).
///
/// # Errors
/// If the value has another type.
pub fn empty_if_null<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    let value = Option::<T>::deserialize(deserializer)?;
    Ok(Some(value.unwrap_or_default()))
}

/// A type with a class for each of its fields. The macro [`admin_command!`](crate::admin_command) implements it, so
/// each field of each command and body has a class.
///
/// ```
/// assent_model::admin_command! {
///     pub struct DeleteUser(target u64);
/// }
/// fn run(_: impl assent_model::command::Classified) {}
/// run(DeleteUser(1));
/// ```
///
/// ```compile_fail
/// struct DeleteUser(u64);
/// fn run(_: impl assent_model::command::Classified) {}
/// run(DeleteUser(1));
/// ```
///
/// ```compile_fail
/// assent_model::admin_command! {
///     pub struct DeleteUser {
///         user: u64,
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "the fields of `{Self}` have no classes",
    label = "define it with `admin_command!`, which gives each field a class"
)]
pub trait Classified {}

/// Fails to compile for a type whose fields have no classes.
#[doc(hidden)]
pub const fn must_be_classified<T: Classified>() {}

/// Defines a command of an administrator, or the body of one. Each field has a class:
///
/// - `target`: the user, application or other object that the command changes;
/// - `protected`: the field may need an approval, so the use case must check it;
/// - `owner`: the same, and the use case must reject other callers than owners;
/// - `protected explained`, `owner explained`: a sentence of the summary explains the field, so the list of members
///   omits its value;
/// - `harmless`: the field never needs an approval;
/// - `classified`: a body with classes for its own fields.
///
/// A command has named fields, one unnamed field, or no field:
///
/// ```
/// assent_model::admin_command! {
///     pub struct Rename {
///         target user: u64,
///         protected name: String,
///     }
/// }
/// assent_model::admin_command! {
///     pub struct Delete(target u64);
/// }
/// let (Rename { user, .. }, Delete(deleted)) = (Rename { user: 1, name: "ada".to_owned() }, Delete(1));
/// assert_eq!(user, deleted);
/// ```
///
/// A body also has a second struct, from which the use case reads the protected fields. The use case names each of
/// them, so it does not compile after a new one is added.
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
/// assert_eq!(assent_model::command::Change::sent_members(&change).len(), 1);
/// ```
///
/// `tests/compile_fail` contains code that does not compile: a field without a class, a use case that overlooks a
/// protected field, and a plan without an authorization.
#[macro_export]
macro_rules! admin_command {
    (@class classified $type:ty) => {
        const _: () = $crate::command::must_be_classified::<$type>();
    };
    (@class target $type:ty) => {};
    (@class protected $type:ty) => {};
    (@class owner $type:ty) => {};
    (@class harmless $type:ty) => {};
    (@class $class:ident $type:ty) => {
        compile_error!(concat!(
            "`", stringify!($class),
            "` is not a class; expected `target`, `harmless`, `protected`, `owner` or `classified`"
        ));
    };
    (@fields $head:tt $all:tt $protected:tt $members:tt
        $(#[$($meta:tt)*])* protected explained $field:ident: $type:ty, $($rest:tt)*) => {
        $crate::admin_command! {
            @protected $head $all $protected $members [$(#[$($meta)*])*] (Protected, true) $field ($type) $($rest)*
        }
    };
    (@fields $head:tt $all:tt $protected:tt $members:tt
        $(#[$($meta:tt)*])* protected $field:ident: $type:ty, $($rest:tt)*) => {
        $crate::admin_command! {
            @protected $head $all $protected $members [$(#[$($meta)*])*] (Protected, false) $field ($type) $($rest)*
        }
    };
    (@fields $head:tt $all:tt $protected:tt $members:tt
        $(#[$($meta:tt)*])* owner explained $field:ident: $type:ty, $($rest:tt)*) => {
        $crate::admin_command! {
            @protected $head $all $protected $members [$(#[$($meta)*])*] (OwnerOnly, true) $field ($type) $($rest)*
        }
    };
    (@fields $head:tt $all:tt $protected:tt $members:tt
        $(#[$($meta:tt)*])* owner $field:ident: $type:ty, $($rest:tt)*) => {
        $crate::admin_command! {
            @protected $head $all $protected $members [$(#[$($meta)*])*] (OwnerOnly, false) $field ($type) $($rest)*
        }
    };
    (@protected $head:tt {$($all:tt)*} {$($protected:tt)*} {$($members:tt)*}
        [$($meta:tt)*] ($($class:tt)*) $field:ident ($type:ty) $($rest:tt)*) => {
        $crate::admin_command! {
            @fields $head
            {$($all)* $($meta)* pub $field: $type,}
            {$($protected)* ($field: $type)}
            {$($members)* ($field: $($class)*)}
            $($rest)*
        }
    };
    (@fields $head:tt {$($all:tt)*} $protected:tt {$($members:tt)*}
        $(#[$($meta:tt)*])* harmless $field:ident: $type:ty, $($rest:tt)*) => {
        $crate::admin_command! {
            @fields $head
            {$($all)* $(#[$($meta)*])* pub $field: $type,}
            $protected
            {$($members)* ($field: Harmless, false)}
            $($rest)*
        }
    };
    (@fields $head:tt $all:tt $protected:tt $members:tt
        $(#[$($meta:tt)*])* $field:ident: $type:ty, $($rest:tt)*) => {
        compile_error!(concat!("classify the field `", stringify!($field), "` as `harmless`, `protected` or `owner`"));
    };
    (@fields [$(#[$($meta:tt)*])* $vis:vis $name:ident $borrowed:ident]
        {$($all:tt)*} {$(($field:ident: $type:ty))*}
        {$(($member:ident: $class:ident, $is_explained:literal))*}) => {
        $(#[$($meta)*])*
        $vis struct $name {
            $($all)*
        }

        /// The fields that may need an approval.
        #[derive(Clone, Copy)]
        $vis struct $borrowed<'a> {
            $(#[allow(missing_docs, reason = "see the command")] pub $field: &'a $type,)*
        }

        impl $crate::command::Classified for $name {}

        impl $crate::command::Change for $name {
            const MEMBERS: &[$crate::command::MemberDescription] = &[$(
                $crate::command::MemberDescription {
                    name: stringify!($member),
                    class: $crate::command::MemberClass::$class,
                    is_explained: $is_explained,
                },
            )*];

            fn sent_members(&self) -> Vec<$crate::command::Member> {
                let sent = [$($crate::command::Field::sent(&self.$member),)*];
                let members = Self::MEMBERS.iter().zip(sent);
                members.filter_map(|(member, value)| Some(member.with_value(value?))).collect()
            }
        }

        impl $name {
            /// Returns the fields that may need an approval.
            pub fn protected(&self) -> $borrowed<'_> {
                $borrowed { $($field: &self.$field,)* }
            }
        }
    };
    ($(#[$($meta:tt)*])* $vis:vis struct $name:ident, protected $borrowed:ident { $($fields:tt)* }) => {
        $crate::admin_command! { @fields [$(#[$($meta)*])* $vis $name $borrowed] {} {} {} $($fields)* }
    };
    ($(#[$($meta:tt)*])* $vis:vis struct $name:ident;) => {
        $(#[$($meta)*])*
        $vis struct $name;

        impl $crate::command::Classified for $name {}
    };
    ($(#[$($meta:tt)*])* $vis:vis struct $name:ident($class:ident $type:ty);) => {
        $(#[$($meta)*])*
        $vis struct $name(pub $type);

        impl $crate::command::Classified for $name {}
        $crate::admin_command! { @class $class $type }
    };
    ($(#[$($meta:tt)*])* $vis:vis struct $name:ident {
        $($(#[$($field_meta:tt)*])* $class:ident $field:ident: $type:ty),* $(,)?
    }) => {
        $(#[$($meta)*])*
        $vis struct $name {
            $($(#[$($field_meta)*])* pub $field: $type,)*
        }

        impl $crate::command::Classified for $name {}
        $($crate::admin_command! { @class $class $type })*
    };
    ($(#[$($meta:tt)*])* $vis:vis struct $name:ident $($rest:tt)*) => {
        compile_error!(concat!(
            "classify each field of `", stringify!($name),
            "` as `target`, `harmless`, `protected`, `owner` or `classified`"
        ));
    };
}
