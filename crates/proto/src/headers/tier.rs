//! The four data tiers.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::reject::Reason;

/// How careful whoever has a message must be with what it carries (docs/protocol.md, Headers, and Tiers and
/// layers). The higher of two is the greater. The wire, the log and the rows have its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "u8")]
pub enum Tier {
    /// Tier 1: that of whatever names none.
    #[default]
    Public = 1,
    /// Tier 2, the highest that travels in clear.
    Household,
    /// Tier 3.
    Sensitive,
    /// Tier 4, the highest there is.
    Restricted,
}

impl Tier {
    /// Every one, ascending.
    pub const ALL: [Self; 4] = [
        Self::Public,
        Self::Household,
        Self::Sensitive,
        Self::Restricted,
    ];

    /// The one that a number names (check V04).
    ///
    /// # Errors
    /// `header-invalid` for what is not 1 to 4.
    pub fn parse(number: impl TryInto<u8>) -> Result<Self, Reason> {
        let number = number.try_into().ok();
        let mut all = Self::ALL.into_iter();
        let found = all.find(|tier| Some(tier.number()) == number);
        found.ok_or(Reason::HeaderInvalid)
    }

    /// 1 to 4, as `data-tier` says it.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The name in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Household => "household",
            Self::Sensitive => "sensitive",
            Self::Restricted => "restricted",
        }
    }

    /// What belongs to it, for people.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Public => "anybody may know it",
            Self::Household => "for those who live or work together",
            Self::Sensitive => "health, money, whereabouts: sealed on the way",
            Self::Restricted => "what does harm in other hands: sealed on the way",
        }
    }

    /// Whether content of it travels and is kept sealed, always. Only a message without content, such as the error that
    /// refuses a request, passes in clear.
    pub const fn is_sealed(self) -> bool {
        matches!(self, Self::Sensitive | Self::Restricted)
    }

    /// What the log and a person's view may repeat outside the box: nothing of a tier that is sealed.
    pub(crate) fn in_clear<T>(self, said: Option<T>) -> Option<T> {
        said.filter(|_| !self.is_sealed())
    }
}

/// Its number.
impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

impl From<Tier> for u8 {
    fn from(tier: Tier) -> Self {
        tier.number()
    }
}

/// For rows, and for numbers of a file.
impl TryFrom<i64> for Tier {
    type Error = Reason;

    fn try_from(number: i64) -> Result<Self, Reason> {
        Self::parse(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tier_is_its_number_wherever_it_is_written() {
        for (tier, number) in Tier::ALL.into_iter().zip(1_u8..) {
            assert_eq!(Tier::parse(number), Ok(tier));
            assert_eq!((tier.number(), u8::from(tier)), (number, number));
            assert_eq!(tier.to_string(), number.to_string());
            assert_eq!(serde_json::to_string(&tier).unwrap(), number.to_string());
            assert_eq!(
                serde_json::from_str::<Tier>(&number.to_string()).unwrap(),
                tier
            );
        }
        assert!(Tier::ALL.is_sorted());
    }

    #[test]
    fn no_other_number_is_a_tier() {
        for number in [-1, 0, 5, 255, 256, 257, i64::MAX] {
            assert_eq!(
                Tier::try_from(number),
                Err(Reason::HeaderInvalid),
                "{number}"
            );
            assert!(serde_json::from_str::<Tier>(&number.to_string()).is_err());
        }
        assert_eq!(Tier::parse(u64::MAX), Err(Reason::HeaderInvalid));
    }
}
