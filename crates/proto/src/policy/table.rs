//! The table: what each tier asks of its sender and its recipient.

use crate::headers::{Layers, Tier};

/// The layers that each tier asks for, as the principal decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table([Layers; 4]);

/// The default table (docs/protocol.md, Tiers and layers).
impl Default for Table {
    fn default() -> Self {
        let rows: [&[u8]; 4] = [&[0], &[0, 1], &[0, 1, 2], &[0, 1, 2, 3]];
        Self(rows.map(Layers::of))
    }
}

impl Table {
    /// The layers that `tier` asks for.
    pub const fn layers(&self, tier: Tier) -> Layers {
        let Self([public, household, sensitive, restricted]) = *self;
        match tier {
            Tier::Public => public,
            Tier::Household => household,
            Tier::Sensitive => sensitive,
            Tier::Restricted => restricted,
        }
    }

    /// The table with other layers for `tier`.
    #[must_use]
    pub fn with(&self, tier: Tier, layers: Layers) -> Self {
        let other = |row| (row == tier).then_some(layers);
        Self(Tier::ALL.map(|row| other(row).unwrap_or(self.layers(row))))
    }

    /// The first tier that asks for less than the one below it: whoever may not have the lower would
    /// only have to call it higher.
    pub fn descends_at(&self) -> Option<Tier> {
        let mut pairs = Tier::ALL.into_iter().zip(Tier::ALL.into_iter().skip(1));
        let pair = pairs.find(|(one, next)| !self.layers(*one).is_subset_of(self.layers(*next)));
        pair.map(|(_, higher)| higher)
    }
}
