//! Enums whose variants are words: in JSON, and for people.

/// An enum whose variants stand beside their words.
macro_rules! words {
    (
        $(#[$about:meta])*
        pub enum $name:ident { $( $(#[$doc:meta])* $variant:ident $word:literal, )* }
    ) => {
        $(#[$about])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
        )]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        pub enum $name {
            $( $(#[$doc])* #[serde(rename = $word)] $variant, )*
        }

        impl $name {
            /// Every one of them, in their order.
            pub const ALL: &'static [Self] = &[ $( Self::$variant, )* ];

            /// The word for it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $word, )* }
            }
        }
    };
}
