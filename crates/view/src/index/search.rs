//! Lines by words, person, tier and dates, newest first.

use std::collections::BTreeMap;

use rusqlite::params;

use super::ask::{COLUMNS, IndexReader, IndexedLine};
use super::batch::{BLOCK_BITS, SEQ_BITS};
use super::topic::LineTopic;
use super::words::split;
use crate::ViewError;

/// Which lines are wanted: those that fit all of it.
#[derive(Clone, Debug)]
pub(crate) struct WantedLines {
    /// Words; of the last one its beginning is enough.
    pub(crate) words: String,
    pub(crate) peer: Option<String>,
    pub(crate) tier: Option<u8>,
    /// From this moment on.
    pub(crate) from: i64,
    /// Before this moment.
    pub(crate) before: i64,
    /// Of these kinds; of every kind where there is none.
    pub(crate) whats: &'static [LineTopic],
    /// The most lines.
    pub(crate) most: u32,
}

impl Default for WantedLines {
    fn default() -> Self {
        Self {
            words: String::new(),
            peer: None,
            tier: None,
            from: 0,
            before: i64::MAX,
            whats: &[],
            most: 50,
        }
    }
}

impl WantedLines {
    fn fits(&self, line: &IndexedLine) -> bool {
        let peer = self.peer.as_ref();
        (self.whats.is_empty() || self.whats.contains(&line.what))
            && peer.is_none_or(|peer| line.peer.as_ref() == Some(peer))
            && self.tier.is_none_or(|tier| line.tier == Some(tier))
    }
}

/// The result of a search.
#[derive(Debug, Default)]
pub(crate) struct FoundLines {
    /// The lines, newest first.
    pub(crate) lines: Vec<IndexedLine>,
    /// Whether older ones fit, too.
    pub(crate) has_more: bool,
    /// Whether the search ended before it had looked at everything.
    pub(crate) is_cut: bool,
}

impl IndexReader {
    /// Looks for lines in all logs.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub(crate) fn find(&self, wanted: &WantedLines) -> Result<FoundLines, ViewError> {
        let mut found = FoundLines::default();
        let words: Vec<String> = split(&wanted.words).take(MOST_WORDS).collect();
        // The person typed only punctuation, which holds no word: find nothing. Without this, no words would mean all
        // lines.
        if words.is_empty() && !wanted.words.trim().is_empty() {
            return Ok(found);
        }
        for log in self.logs()? {
            let (from, to) = self.span(log.id, wanted)?;
            match words.is_empty() {
                true => self.find_by_columns(from, to, wanted, &mut found)?,
                false => self.find_by_words(from, to, &words, wanted, &mut found)?,
            }
        }
        found
            .lines
            .sort_unstable_by_key(|line| std::cmp::Reverse((line.at, line.id)));
        let most = usize::try_from(wanted.most).unwrap_or(usize::MAX);
        found.has_more = found.lines.len() > most;
        found.lines.truncate(most);
        Ok(found)
    }

    /// The ids of a log's lines within the span of time: lines of one log stand in the order of their times.
    fn span(&self, log: i64, wanted: &WantedLines) -> Result<(i64, i64), ViewError> {
        let from = self.first_since(log, wanted.from)?;
        let to = self.first_since(log, wanted.before)?;
        Ok((from, to))
    }

    /// The id of the first line at a moment or after it.
    fn first_since(&self, log: i64, at: i64) -> Result<i64, ViewError> {
        let (mut low, mut high) = (log << SEQ_BITS, (log + 1) << SEQ_BITS);
        match at {
            i64::MIN..=0 => return Ok(low),
            i64::MAX => return Ok(high),
            _ => {}
        }
        // Ids have gaps, so halve the range of ids: look at the first line of the upper half, and go on in the half
        // that holds the moment.
        while low < high {
            let middle = low + (high - low) / 2;
            let sql = "SELECT id, at FROM line WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT 1";
            let line = self.row(sql, params![middle, high], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
            })?;
            match line {
                Some((id, when)) if when < at => low = id + 1,
                _ => high = middle,
            }
        }
        Ok(low)
    }

    fn find_by_columns(
        &self,
        from: i64,
        to: i64,
        wanted: &WantedLines,
        found: &mut FoundLines,
    ) -> Result<(), ViewError> {
        let mut whats: Vec<Option<LineTopic>> = wanted.whats.iter().copied().map(Some).collect();
        if whats.is_empty() {
            whats.push(None);
        }
        for what in whats {
            // Name the index: SQLite keeps no count of how rare a thing is, and would walk through the whole log for it. The
            // numbers stand in the text, so that it can see which of its partial indices hold the lines.
            let is_rare = what.is_some_and(|what| what as u8 > 1);
            let tier = wanted.tier;
            let by = match (is_rare, tier, &wanted.peer) {
                (true, ..) => " INDEXED BY line_rare",
                (false, Some(3..), _) => " INDEXED BY line_tier",
                (false, _, Some(_)) => " INDEXED BY line_peer",
                (false, _, None) => "",
            };
            let mut sql =
                format!("SELECT {COLUMNS} FROM line l{by} WHERE l.id >= ?1 AND l.id < ?2");
            if let Some(what) = what {
                sql.push_str(&format!(" AND l.what = {}", what as u8));
            }
            if is_rare {
                sql.push_str(" AND l.what > 1");
            }
            if let Some(tier) = tier {
                sql.push_str(&format!(" AND l.tier = {tier}"));
            }
            if !is_rare && tier.is_some_and(|tier| tier > 2) {
                sql.push_str(" AND l.tier > 2");
            }
            sql.push_str(match &wanted.peer {
                Some(_) => " AND l.peer = (SELECT id FROM name WHERE text = ?4)",
                None => " AND ?4 IS NULL",
            });
            sql.push_str(" ORDER BY l.id DESC LIMIT ?3");
            let most = wanted.most + 1;
            found.lines.extend(self.rows(
                &sql,
                params![from, to, most, wanted.peer],
                IndexedLine::read,
            )?);
        }
        Ok(())
    }

    fn find_by_words(
        &self,
        from: i64,
        to: i64,
        words: &[String],
        wanted: &WantedLines,
        found: &mut FoundLines,
    ) -> Result<(), ViewError> {
        let mut spelt = Vec::new();
        for (index, word) in words.iter().enumerate() {
            spelt.push(match index + 1 == words.len() {
                true => self.beginning_with(word, &mut found.is_cut)?,
                false => vec![word.clone()],
            });
        }
        let (mut looked, mut taken) = (0, 0);
        let mut upto = to >> BLOCK_BITS;
        let lowest = from >> BLOCK_BITS;
        while upto >= lowest && taken <= wanted.most {
            let below = (upto + 1 - BLOCKS).max(lowest);
            for (block, places) in self.blocks(&spelt, below, upto)?.into_iter().rev() {
                for place in places.into_iter().rev() {
                    let id = block << BLOCK_BITS | i64::from(place);
                    if id < from || id >= to || taken > wanted.most {
                        continue;
                    }
                    looked += 1;
                    if looked > MOST_LOOKED {
                        found.is_cut = true;
                        return Ok(());
                    }
                    if let Some(line) = self.line(id)?.filter(|line| wanted.fits(line)) {
                        found.lines.push(line);
                        taken += 1;
                    }
                }
            }
            upto = match self.block_before(&spelt, below)? {
                Some(before) => before,
                None => break,
            };
        }
        Ok(())
    }

    /// The words of the index that begin so.
    fn beginning_with(&self, word: &str, is_cut: &mut bool) -> Result<Vec<String>, ViewError> {
        let mut found = vec![word.to_owned()];
        while let Some(last) = found.last() {
            let sql = "SELECT word FROM post WHERE word > ?1 ORDER BY word LIMIT 1";
            let next: Option<String> = self.row(sql, [last], |row| row.get(0))?;
            let Some(next) = next.filter(|next| next.starts_with(word)) else {
                break;
            };
            if found.len() >= MOST_SPELT {
                *is_cut = true;
                break;
            }
            found.push(next);
        }
        Ok(found)
    }

    /// The lines in which all words stand, by block.
    fn blocks(
        &self,
        spelt: &[Vec<String>],
        from: i64,
        to: i64,
    ) -> Result<BTreeMap<i64, Vec<u16>>, ViewError> {
        let mut all: Option<BTreeMap<i64, Vec<u16>>> = None;
        for words in spelt {
            let mut here: BTreeMap<i64, Vec<u16>> = BTreeMap::new();
            for word in words {
                let sql =
                    "SELECT block, lines FROM post WHERE word = ?1 AND block >= ?2 AND block <= ?3";
                let rows = self.rows(sql, params![word, from, to], |row| {
                    Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?))
                })?;
                for (block, lines) in rows {
                    let places = lines.chunks_exact(2).map(|pair| match pair {
                        [low, high] => u16::from_le_bytes([*low, *high]),
                        _ => 0,
                    });
                    here.entry(block).or_default().extend(places);
                }
            }
            here.values_mut().for_each(|places| {
                places.sort_unstable();
                places.dedup();
            });
            all = Some(match all {
                None => here,
                Some(before) => both(before, &here),
            });
        }
        Ok(all.unwrap_or_default())
    }

    /// The newest block before `below` in which the rarest word may stand.
    fn block_before(&self, spelt: &[Vec<String>], below: i64) -> Result<Option<i64>, ViewError> {
        let mut newest: Option<i64> = None;
        let log = below >> (SEQ_BITS - BLOCK_BITS);
        for words in spelt {
            let mut last: Option<i64> = None;
            for word in words {
                let sql =
                    "SELECT max(block) FROM post WHERE word = ?1 AND block >= ?2 AND block < ?3";
                let first = log << (SEQ_BITS - BLOCK_BITS);
                let found = self.row(sql, params![word, first, below], |row| {
                    row.get::<_, Option<i64>>(0)
                })?;
                last = last.max(found.flatten());
            }
            let Some(last) = last else { return Ok(None) };
            newest = Some(newest.map_or(last, |newest| newest.min(last)));
        }
        Ok(newest)
    }
}

fn both(
    mut all: BTreeMap<i64, Vec<u16>>,
    here: &BTreeMap<i64, Vec<u16>>,
) -> BTreeMap<i64, Vec<u16>> {
    all.retain(|block, places| {
        let Some(others) = here.get(block) else {
            return false;
        };
        places.retain(|place| others.binary_search(place).is_ok());
        !places.is_empty()
    });
    all
}

/// The most words that are looked for.
const MOST_WORDS: usize = 8;
/// The most words that one beginning stands for.
const MOST_SPELT: usize = 64;
/// The most lines that are looked at for one answer.
const MOST_LOOKED: usize = 2_000;
/// How many blocks are asked for at once.
const BLOCKS: i64 = 4;
