//! Why our own side refuses a program's offer.

/// Why a program's offer is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OfferFault {
    /// The configuration has a capability of that name.
    #[error("the configuration settles it; remove its [[capability]] first, or offer another name")]
    Configured,
    /// No pattern allows it.
    #[error("`[offer] allow` names it not; add it there, or offer a name that is allowed")]
    NotAllowed,
    /// Its tier is not 1 or 2.
    #[error("what a program offers takes tier 1 or 2; a higher tier needs a [[capability]]")]
    Tier,
    /// Its words would leave without the approval of our person.
    #[error(
        "`[approve] tiers` has tier 1, in which its description and schema would leave; offer the name alone, or add a [[capability]]"
    )]
    Words,
    /// A program of another user id offers it.
    #[error("a program of another user id offers it already; end that one first")]
    Held,
    /// All together are too many, or too long.
    #[error(
        "all offers together are over 64, 160 KiB or 8,000 values; offer fewer, or shorter schemas"
    )]
    TooMuch,
}
