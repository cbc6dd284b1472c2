//! The table: what each tier means, and what its sender and its recipient must have.

use crate::headers::Layers;

/// One row of the default table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tier {
    /// 1 to 4, as `data-tier` says it.
    pub number: u8,
    /// The name in the configuration.
    pub name: &'static str,
    /// What belongs to it, for people.
    pub meaning: &'static str,
    /// The skill layers that a peer must have.
    pub layers: &'static [u8],
}

/// The default table (docs/protocol.md, Trust and tiers).
pub const TIERS: [Tier; 4] = [
    Tier {
        number: 1,
        name: "public",
        meaning: "anybody may know it",
        layers: &[0],
    },
    Tier {
        number: 2,
        name: "household",
        meaning: "for those who live or work together",
        layers: &[0, 1],
    },
    Tier {
        number: 3,
        name: "sensitive",
        meaning: "health, money, whereabouts: sealed on the way",
        layers: &[0, 1, 2],
    },
    Tier {
        number: 4,
        name: "restricted",
        meaning: "what does harm in other hands: sealed on the way",
        layers: &[0, 1, 2, 3],
    },
];

/// The layers that each tier asks for, as the principal decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table([Layers; 4]);

impl Default for Table {
    fn default() -> Self {
        Self(TIERS.map(|tier| Layers::of(tier.layers)))
    }
}

impl Table {
    /// The layers that `tier` asks for; of a tier that does not exist, more than anybody has.
    pub fn layers(&self, tier: u8) -> Layers {
        let row = usize::from(tier).checked_sub(1);
        let row = row.and_then(|row| self.0.get(row));
        row.copied().unwrap_or(Layers::ALL)
    }

    /// The table with other layers for `tier`.
    #[must_use]
    pub fn with(mut self, tier: u8, layers: Layers) -> Self {
        let row = usize::from(tier).checked_sub(1);
        if let Some(row) = row.and_then(|row| self.0.get_mut(row)) {
            *row = layers;
        }
        self
    }

    /// The first tier that asks for less than the one below it: whoever may not have the lower would
    /// only have to call it higher.
    pub fn descends_at(&self) -> Option<u8> {
        let pairs = self.0.iter().zip(self.0.iter().skip(1)).zip(2_u8..);
        let mut below = pairs.filter(|((lower, higher), _)| !lower.is_subset_of(**higher));
        below.next().map(|(_, tier)| tier)
    }
}
