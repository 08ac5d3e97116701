//! The kinds of errors of an API.

/// Defines the kinds of an API's errors: the type with its description, then name, status and English text of each
/// kind. The comment of a kind is the condition under which the API returns it.
macro_rules! error_kinds {
    ($kind:ident, $description:literal;
     $($(#[doc = $about:literal])+ $name:ident = $text:literal, $status:ident, $message:literal;)*) => {
        #[doc = $description]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $kind {
            $($(#[doc = $about])+ $name,)*
        }

        impl $kind {
            /// All kinds, with their conditions.
            pub(crate) const ALL: &[(Self, &str)] = &[$((Self::$name, concat!($($about),+)),)*];

            /// The name in JSON.
            pub(crate) const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// The status of the response.
            pub(crate) const fn status(self) -> axum::http::StatusCode {
                match self {
                    $(Self::$name => axum::http::StatusCode::$status,)*
                }
            }

            /// An English text for clients without a text of their own for the kind.
            pub(crate) const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $message,)*
                }
            }
        }

        impl serde::Serialize for $kind {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        // The derive macro does not see names that come from this macro.
        impl utoipa::PartialSchema for $kind {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                utoipa::openapi::schema::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::schema::Type::String)
                    .enum_values(Some([$($text,)*]))
                    .description(Some($description))
                    .into()
            }
        }

        impl utoipa::ToSchema for $kind {}
    };
}

pub(crate) use error_kinds;
