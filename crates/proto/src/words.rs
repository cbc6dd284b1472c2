//! Enums whose variants are words on the wire or in the log.

/// An enum whose variants stand beside their words. It derives nothing by itself.
macro_rules! words {
    (
        $(#[$about:meta])*
        pub enum $name:ident { $( $(#[$doc:meta])* $variant:ident $word:literal, )* }
    ) => {
        $(#[$about])*
        pub enum $name {
            $( $(#[$doc])* $variant, )*
        }

        impl $name {
            /// Every one of them, in their order.
            pub const ALL: &'static [Self] = &[ $( Self::$variant, )* ];

            /// The word for it.
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $word, )* }
            }

            /// Which one a word names.
            pub fn of(word: &str) -> Option<Self> {
                let mut all = Self::ALL.iter().copied();
                all.find(|known| known.as_str() == word)
            }
        }
    };
}
pub(crate) use words;
