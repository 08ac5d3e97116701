//! The texts of enums whose variants have no fields.
//!
//! The texts are in databases, protocols and logs. So a renamed variant keeps its text: `#[strum(serialize = "...")]`.

/// Adds the list of the variants to an enum, and the conversions from and to their texts.
///
/// The texts are those of [`strum::IntoStaticStr`], which the enum derives together with [`strum::VariantArray`].
#[macro_export]
macro_rules! enum_texts {
    ($name:ident) => {
        impl $name {
            /// All variants, in their order.
            pub const ALL: [Self; <Self as ::strum::VariantArray>::VARIANTS.len()] =
                match <Self as ::strum::VariantArray>::VARIANTS.first_chunk() {
                    Some(all) => *all,
                    None => unreachable!(),
                };

            /// Returns the text of the variant.
            pub fn as_str(self) -> &'static str {
                self.into()
            }

            /// Returns the variant with this text.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL
                    .into_iter()
                    .find(|variant| variant.as_str() == text)
            }
        }
    };
}
