//! What may be sealed on the wire stands open in requests and answers: they print their name and nothing more.

/// `Debug` that shows the name of the type alone.
macro_rules! quiet {
    ($($name:ident),* $(,)?) => {$(
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(concat!(stringify!($name), "(..)"))
            }
        }
    )*};
}
