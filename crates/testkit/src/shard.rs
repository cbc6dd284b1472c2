//! Long runs in shards: `SIGNET_SHARD=2/4` takes the second of every four. Tests of crates that do not depend on this one
//! name this file by its path.

/// Which of how many.
#[derive(Clone, Copy, Debug)]
pub struct Shard {
    /// The place of the first one that is its.
    pub first: usize,
    /// The step to the next.
    pub of: usize,
}

impl Shard {
    /// What the environment asks for; all of it unless it does.
    pub fn asked() -> Self {
        let Ok(text) = std::env::var("SIGNET_SHARD") else {
            return Self { first: 0, of: 1 };
        };
        let parsed = text.split_once('/').and_then(|(number, of)| {
            let (number, of): (usize, usize) = (number.parse().ok()?, of.parse().ok()?);
            (1..=of).contains(&number).then_some((number, of))
        });
        let Some((number, of)) = parsed else {
            panic!("SIGNET_SHARD={text}: write for instance 2/4");
        };
        Self {
            first: number - 1,
            of,
        }
    }

    /// Those of a run that are its.
    pub fn of<T>(self, all: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
        all.skip(self.first).step_by(self.of)
    }
}
