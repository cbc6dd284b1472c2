//! Tables of the keys that verify most: a budget of them, made by whoever verifies, and never for a key that is only claimed.
//!
//! ```text
//! KeyTables::begin ─ a table at hand ─▶ strict.rs: the rule of `verify_strict`, by sums of comb.rs ─▶ KeyTables::settle
//!        └─ none ─▶ VerifyKey::verify ─ holds ─▶ shelf.rs: the third time, a table is made
//! ```
//!
//! Only what held is counted, so whoever holds no admitted key can neither have a table made nor keep one from being put out.
//! Why both ways give one verdict, and what would change that: docs/decisions/0016.

mod comb;
mod point;
mod shelf;
mod strict;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::{Purpose, VerifyKey};
use shelf::TableShelf;
use strict::{BaseTable, KeyTable};

pub(crate) use strict::OpenCheck;

/// How many tables there may be, and when a key gets one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableBudget {
    /// The most tables at one time; with 0 there are none, and every signature is verified without.
    pub tables: usize,
    /// Signatures of a key that have to hold before its table is made; with 0 the table comes first.
    pub uses: u32,
}

impl TableBudget {
    /// The budget of a daemon and of a proof of a log: 64 tables are 3 MiB, and a table is paid back after about eight messages.
    pub const STANDARD: Self = Self {
        tables: 64,
        uses: 3,
    };
    /// No tables: `verify_strict` alone.
    pub const OFF: Self = Self { tables: 0, uses: 0 };
    /// A table before the first signature, for what compares both ways.
    pub const AT_ONCE: Self = Self {
        tables: 64,
        uses: 0,
    };
}

/// How far a signature is verified.
#[derive(Debug)]
pub(crate) enum SignatureCheck {
    /// To its end: whether it holds.
    Done(bool),
    /// By a table, up to the last step.
    Open(Box<OpenCheck>),
}

/// Tables of public keys, by which verifying costs a third: one owner's, shared by those who verify for it.
///
/// Callers have admitted the key (a certificate that is bound, or that a log pinned). A table is 48 KiB and a quarter of a
/// millisecond, and a stranger's word shall not cost that.
pub struct KeyTables {
    budget: TableBudget,
    shelf: Mutex<TableShelf>,
    /// The base point's table, made with the first key's.
    base: OnceLock<BaseTable>,
}

impl KeyTables {
    /// None yet, and at most what `budget` allows.
    pub fn new(budget: TableBudget) -> Self {
        Self {
            budget,
            shelf: Mutex::new(TableShelf::new(budget)),
            base: OnceLock::new(),
        }
    }

    /// Whether `signature` holds under an admitted key: the verdict of [`VerifyKey::verify`], by the key's table where there is
    /// one. May make that table.
    pub fn verify(
        &self,
        key: &VerifyKey,
        purpose: Purpose,
        parts: &[&[u8]],
        signature: &[u8; 64],
    ) -> bool {
        self.holds(self.begin(key, purpose, parts, signature))
    }

    /// The same verdict, by a table only where it was made before.
    pub fn verify_at_hand(
        &self,
        key: &VerifyKey,
        purpose: Purpose,
        parts: &[&[u8]],
        signature: &[u8; 64],
    ) -> bool {
        self.holds(self.begin_at_hand(key, purpose, parts, signature))
    }

    /// Begins to verify, by the key's table where there is one. May make that table, so the thread that owns the state calls
    /// [`KeyTables::begin_at_hand`] instead.
    pub(crate) fn begin(
        &self,
        key: &VerifyKey,
        purpose: Purpose,
        parts: &[&[u8]],
        signature: &[u8; 64],
    ) -> SignatureCheck {
        if self.budget.uses == 0 {
            self.make(key);
        }
        if let Some(check) = self.by_table(key, purpose, parts, signature) {
            return check;
        }
        let holds = key.verify(purpose, parts, signature);
        if holds && self.shelf().count(key.as_bytes()) {
            self.make(key);
        }
        SignatureCheck::Done(holds)
    }

    /// The same, by a table only where it was made before.
    pub(crate) fn begin_at_hand(
        &self,
        key: &VerifyKey,
        purpose: Purpose,
        parts: &[&[u8]],
        signature: &[u8; 64],
    ) -> SignatureCheck {
        self.by_table(key, purpose, parts, signature)
            .unwrap_or_else(|| SignatureCheck::Done(key.verify(purpose, parts, signature)))
    }

    /// The verdict of one signature.
    pub(crate) fn holds(&self, check: SignatureCheck) -> bool {
        match check {
            SignatureCheck::Done(holds) => holds,
            SignatureCheck::Open(open) => self.settle(&[&open]) == [true],
        }
    }

    /// The verdicts of these signatures, in their order. Each is judged by itself; what they share is one inversion.
    pub(crate) fn settle(&self, open: &[&OpenCheck]) -> Vec<bool> {
        // With nothing to mark, leave the lock on the shelf to others.
        if open.is_empty() {
            return Vec::new();
        }
        let verdicts = OpenCheck::hold(open);
        let mut shelf = self.shelf();
        for (check, holds) in open.iter().zip(&verdicts) {
            if *holds {
                shelf.mark(&check.key);
            }
        }
        verdicts
    }

    /// Tables there are now.
    pub fn held(&self) -> usize {
        self.shelf().held()
    }

    /// Tables made so far, with those put out since.
    pub fn made(&self) -> u64 {
        self.shelf().made()
    }

    /// Bytes that the tables take, the base point's among them.
    pub fn bytes(&self) -> usize {
        let base = self.base.get().map_or(0, BaseTable::bytes);
        base + self.shelf().bytes()
    }

    /// None where there is no table of the key.
    fn by_table(
        &self,
        key: &VerifyKey,
        purpose: Purpose,
        parts: &[&[u8]],
        signature: &[u8; 64],
    ) -> Option<SignatureCheck> {
        let base = self.base.get()?;
        // Hold the lock on the shelf for this look-up only, and not during the arithmetic: other threads want to verify too.
        let table = self.shelf().table(key.as_bytes())?;
        let open = table.begin(base, purpose.label(), parts, signature);
        Some(open.map_or(SignatureCheck::Done(false), |open| {
            SignatureCheck::Open(Box::new(open))
        }))
    }

    /// Makes a key's table, where there is room and nobody else is at it. The lock is free while points are added.
    fn make(&self, key: &VerifyKey) {
        if !self.shelf().reserve(key.as_bytes()) {
            return;
        }
        // Make the tables without the lock on the shelf, so that other threads go on verifying: with this key they find no
        // table yet, and verify without one. A thread that makes another key's table waits for that of the base point.
        self.base.get_or_init(BaseTable::new);
        // A `VerifyKey` is a point, so there is a table.
        if let Some(table) = KeyTable::of(*key.as_bytes()) {
            self.shelf().put(key.as_bytes(), Arc::new(table));
        }
    }

    fn shelf(&self) -> MutexGuard<'_, TableShelf> {
        // Take the lock even if another thread panicked while it held it: tables only save time, and no verdict depends on
        // which of them exist.
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for KeyTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Print nothing of which tables exist: tests compare two nodes of one log by what they print, whatever each has
        // verified.
        f.debug_struct("KeyTables").finish_non_exhaustive()
    }
}
