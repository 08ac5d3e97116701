//! One description of each resource of the admin API: its members, with their texts, types and classes.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::command::{Change, Member, MemberValue};

/// A resource as the admin API shows it. [`resource!`](crate::resource) implements it.
pub trait Document: Serialize {
    /// The change of the resource.
    type Change: Change;

    /// Returns the members that a change can set, by their names and in the order of the change.
    fn settable(&self) -> Map<String, Value> {
        let mut members = match serde_json::to_value(self) {
            Ok(Value::Object(members)) => members,
            _ => Map::new(),
        };
        let names = Self::Change::MEMBERS.iter().map(|member| member.name);
        names
            .filter_map(|name| members.remove_entry(name))
            .collect()
    }

    /// Returns the members of a change of this resource that makes it equal to `after`.
    fn members_to(&self, after: &Self) -> Vec<Member> {
        let (before, after) = (self.settable(), after.settable());
        let members = Self::Change::MEMBERS.iter();
        members
            .filter(|member| before.get(member.name) != after.get(member.name))
            .map(|member| {
                let value = after.get(member.name).cloned().unwrap_or_default();
                member.with_value(MemberValue::from(value))
            })
            .collect()
    }
}

/// Describes a resource of the admin API: a document that responses contain, and a change that requests contain
/// (RFC 7396). Both have the members of the description, in its order, with the same texts.
///
/// A member of both has a class as in [`admin_command!`](crate::admin_command), a form, a name and a type:
///
/// - `plain`: the member always has a value;
/// - `emptied`: `null` sets the default of the type;
/// - `reset`: as `emptied`, and the use case distinguishes `null` from an empty value;
/// - `removable`: `null` removes the value, and the document shows `null`;
/// - `omitted`: `null` removes the value, and the document omits the member;
/// - `sent`: a `plain` member of the change only;
/// - `sent_removable`: a `removable` member of the change only.
///
/// `A => B` is the type of the change and that of the document, if they differ. The type after `as` is that of the
/// schema of the change, and of the document if the types are equal. `shown` is a member of the document only.
///
/// ```
/// assent_model::resource! {
///     /// A user.
///     #[derive(serde::Serialize)]
///     pub struct UserDocument;
///     /// An update of a user.
///     #[derive(Default, serde::Deserialize, serde::Serialize)]
///     pub struct UserChange, protected ProtectedUserMembers;
///     /// The identifier.
///     shown id: u64,
///     /// The name at sign-in.
///     protected plain name: String,
///     /// The email address.
///     harmless removable email: String,
/// }
/// use assent_model::resource::Document;
/// let user = UserDocument { id: 1, name: "ada".to_owned(), email: None };
/// let change: UserChange = serde_json::from_value(user.settable().into()).unwrap();
/// assert_eq!((change.name.as_deref(), change.email), (Some("ada"), Some(None)));
/// ```
///
/// A member without a class does not compile:
///
/// ```compile_fail
/// assent_model::resource! {
///     #[derive(serde::Serialize)]
///     pub struct UserDocument;
///     #[derive(Default, serde::Deserialize, serde::Serialize)]
///     pub struct UserChange, protected ProtectedUserMembers;
///     plain name: String,
/// }
/// ```
#[macro_export]
macro_rules! resource {
    // A member of the document only.
    (@members $head:tt {$($shown:tt)*} $change:tt
        $(#[$($meta:tt)*])* shown $name:ident: $type:ty, $($rest:tt)*) => {
        $crate::resource! { @members $head {$($shown)* $(#[$($meta)*])* pub $name: $type,} $change $($rest)* }
    };
    // A member of both. The ways to write its types become one.
    (@members $head:tt $shown:tt $change:tt
        $(#[$($meta:tt)*])* $class:ident $(($explained:ident))? $form:ident
        $name:ident: $sent:ty => $type:ty as $schema:ty, $($rest:tt)*) => {
        $crate::resource! {
            @$form $head $shown $change
            [$(#[$($meta)*])*] [] [#[schema(value_type = Option<$schema>)]]
            [$class $($explained)?] $name ($sent) ($type) $($rest)*
        }
    };
    (@members $head:tt $shown:tt $change:tt
        $(#[$($meta:tt)*])* $class:ident $(($explained:ident))? $form:ident
        $name:ident: $sent:ty => $type:ty, $($rest:tt)*) => {
        $crate::resource! {
            @$form $head $shown $change [$(#[$($meta)*])*] [] [] [$class $($explained)?] $name ($sent) ($type) $($rest)*
        }
    };
    (@members $head:tt $shown:tt $change:tt
        $(#[$($meta:tt)*])* $class:ident $(($explained:ident))? $form:ident
        $name:ident: $type:ty as $schema:ty, $($rest:tt)*) => {
        $crate::resource! {
            @$form $head $shown $change
            [$(#[$($meta)*])*] [#[schema(value_type = $schema)]] [#[schema(value_type = Option<$schema>)]]
            [$class $($explained)?] $name ($type) ($type) $($rest)*
        }
    };
    (@members $head:tt $shown:tt $change:tt
        $(#[$($meta:tt)*])* $class:ident $(($explained:ident))? $form:ident
        $name:ident: $type:ty, $($rest:tt)*) => {
        $crate::resource! {
            @$form $head $shown $change [$(#[$($meta)*])*] [] [] [$class $($explained)?] $name ($type) ($type) $($rest)*
        }
    };
    (@plain $head:tt {$($shown:tt)*} $change:tt [$($meta:tt)*] [$($schema:tt)*] $sent_schema:tt
        $class:tt $name:ident ($sent:ty) ($type:ty) $($rest:tt)*) => {
        $crate::resource! {
            @sent $head
            {$($shown)* $($meta)* $($schema)* pub $name: $type,}
            $change [$($meta)*] [$($schema)*] $sent_schema $class $name ($sent) ($type) $($rest)*
        }
    };
    (@sent $head:tt $shown:tt {$($change:tt)*} [$($meta:tt)*] $schema:tt [$($sent_schema:tt)*]
        [$($class:ident)+] $name:ident ($sent:ty) ($type:ty) $($rest:tt)*) => {
        $crate::resource! {
            @members $head $shown
            {$($change)* $($meta)* $($sent_schema)* $($class)+ $name: Option<$sent>,}
            $($rest)*
        }
    };
    (@emptied $head:tt {$($shown:tt)*} {$($change:tt)*} [$($meta:tt)*] [$($schema:tt)*] [$($sent_schema:tt)*]
        [$($class:ident)+] $name:ident ($sent:ty) ($type:ty) $($rest:tt)*) => {
        $crate::resource! {
            @members $head
            {$($shown)* $($meta)* $($schema)* pub $name: $type,}
            {$($change)* $($meta)* $($sent_schema)*
                #[serde(default, deserialize_with = "assent_model::command::empty_if_null")]
                $($class)+ $name: Option<$sent>,}
            $($rest)*
        }
    };
    (@reset $head:tt {$($shown:tt)*} $change:tt [$($meta:tt)*] [$($schema:tt)*] $sent_schema:tt
        $class:tt $name:ident ($sent:ty) ($type:ty) $($rest:tt)*) => {
        $crate::resource! {
            @sent_removable $head
            {$($shown)* $($meta)* $($schema)* pub $name: $type,}
            $change [$($meta)*] [$($schema)*] $sent_schema $class $name ($sent) ($type) $($rest)*
        }
    };
    (@removable $head:tt {$($shown:tt)*} $change:tt [$($meta:tt)*] $schema:tt [$($sent_schema:tt)*]
        $class:tt $name:ident ($sent:ty) ($type:ty) $($rest:tt)*) => {
        $crate::resource! {
            @sent_removable $head
            {$($shown)* $($meta)* $($sent_schema)* pub $name: Option<$type>,}
            $change [$($meta)*] $schema [$($sent_schema)*] $class $name ($sent) ($type) $($rest)*
        }
    };
    (@omitted $head:tt {$($shown:tt)*} $change:tt [$($meta:tt)*] $schema:tt [$($sent_schema:tt)*]
        $class:tt $name:ident ($sent:ty) ($type:ty) $($rest:tt)*) => {
        $crate::resource! {
            @sent_removable $head
            {$($shown)* $($meta)* $($sent_schema)*
                #[serde(skip_serializing_if = "Option::is_none")] pub $name: Option<$type>,}
            $change [$($meta)*] $schema [$($sent_schema)*] $class $name ($sent) ($type) $($rest)*
        }
    };
    (@sent_removable $head:tt $shown:tt {$($change:tt)*} [$($meta:tt)*] $schema:tt [$($sent_schema:tt)*]
        [$($class:ident)+] $name:ident ($sent:ty) ($type:ty) $($rest:tt)*) => {
        $crate::resource! {
            @members $head $shown
            {$($change)* $($meta)* $($sent_schema)*
                #[serde(default, deserialize_with = "assent_model::command::removable")]
                $($class)+ $name: Option<Option<$sent>>,}
            $($rest)*
        }
    };
    (@members $head:tt $shown:tt $change:tt $(#[$($meta:tt)*])* $form:ident $name:ident: $($rest:tt)*) => {
        compile_error!(concat!(
            "classify the member `", stringify!($name), "` as `harmless`, `protected` or `owner`, before its form"
        ));
    };
    (@members [{$($document_meta:tt)*} $vis:vis $document:ident {$($change_meta:tt)*} $change:ident $protected:ident]
        {$($shown:tt)*} {$($members:tt)*}) => {
        $($document_meta)*
        $vis struct $document {
            $($shown)*
        }

        $crate::admin_command! {
            $($change_meta)*
            $vis struct $change, protected $protected {
                $($members)*
            }
        }

        impl $crate::resource::Document for $document {
            type Change = $change;
        }
    };
    ($(#[$($document_meta:tt)*])* $vis:vis struct $document:ident;
        $(#[$($change_meta:tt)*])* $change_vis:vis struct $change:ident, protected $protected:ident;
        $($members:tt)*) => {
        $crate::resource! {
            @members
            [{$(#[$($document_meta)*])*} $vis $document {$(#[$($change_meta)*])*} $change $protected]
            {} {} $($members)*
        }
    };
}
