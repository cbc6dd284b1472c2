//! What a bench measures: each figure is printed beside its limit, and only when all are printed does a missed one fail.
//!
//! `cargo bench` passes `--bench`, and then a bench measures. Without that word (`make test` runs benches so, in the
//! profile of tests) it takes its smallest numbers and holds the form alone: every part of it ran, and every figure is a
//! number. Time is held by nothing there.
//!
//! This file knows the standard library alone, so that the benches of crates that do without the testkit include it too.
#![allow(dead_code, unreachable_pub, clippy::panic)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A bench that is running, with the figures that it took so far.
pub struct Bench {
    name: &'static str,
    measures: bool,
    /// Where its figures are written down: `target/figures`.
    kept: PathBuf,
    figures: Vec<Figure>,
}

struct Figure {
    what: String,
    value: f64,
    limit: Option<Limit>,
}

/// Where a figure has to lie.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// At most so much.
    Most(f64),
    /// At least so much.
    Least(f64),
}

/// Whether Cargo runs this process to measure.
pub fn measures() -> bool {
    std::env::args().any(|word| word == "--bench")
}

impl Bench {
    /// Begins the bench of that name.
    pub fn begin(name: &'static str) -> Self {
        let program = std::env::current_exe().unwrap_or_default();
        // `program` is target/release/deps/NAME, so its third ancestor is target, where the figures are kept.
        let built = program.ancestors().nth(3).unwrap_or_else(|| Path::new(""));
        Self {
            name,
            measures: measures(),
            kept: built.join("figures"),
            figures: Vec::new(),
        }
    }

    /// A number of rounds, lines or seconds: the former to measure, the latter to hold the form.
    pub fn size<T>(&self, measured: T, smallest: T) -> T {
        if self.measures { measured } else { smallest }
    }

    /// A figure that has no limit. `what` names its unit.
    pub fn figure(&mut self, what: impl Into<String>, value: f64) {
        self.take(what.into(), value, None);
    }

    /// A figure with the limit that it is held against at the end. `what` names its unit.
    pub fn held(&mut self, what: impl Into<String>, value: f64, limit: Limit) {
        self.take(what.into(), value, Some(limit));
    }

    fn take(&mut self, what: String, value: f64, limit: Option<Limit>) {
        assert!(value.is_finite(), "{}: {what} is {value}", self.name);
        // Apply limits only where Cargo runs the bench with `--bench`: figures of another build profile mean nothing.
        let limit = limit.filter(|_| self.measures);
        let figure = Figure { what, value, limit };
        println!("{}", figure.said());
        self.figures.push(figure);
    }

    /// Writes the figures down for `make bench`, and unwinds if one of them missed its limit: whoever holds daemons and
    /// servers ends them then, and the process fails.
    pub fn end(self) {
        assert!(!self.figures.is_empty(), "{} took no figure", self.name);
        let (name, count) = (self.name, self.figures.len());
        if !self.measures {
            return println!("{name}: {count} figures in form; nothing was measured");
        }
        self.keep();
        let missed = self.figures.iter().filter(|figure| !figure.holds());
        let missed: Vec<String> = missed.map(Figure::said).collect();
        if !missed.is_empty() {
            println!("\n{name} missed:\n{}", missed.join("\n"));
            // The rows are kept already. Drop the bench before the unwinding begins: a bench that is dropped in a panic adds a
            // row that says that it did not come to its end.
            drop(self);
            std::panic::resume_unwind(Box::new("a limit was missed"));
        }
    }

    /// The rows of a table, which `make bench` prints when every bench has ended.
    fn keep(&self) {
        let mut rows = String::new();
        for figure in &self.figures {
            let (what, value, limit) = (&figure.what, number(figure.value), figure.bounds());
            let holds = if figure.holds() { "" } else { "**missed**" };
            let _ = writeln!(
                rows,
                "| {} | {what} | {value} | {limit} | {holds} |",
                self.name
            );
        }
        let written = std::fs::create_dir_all(&self.kept);
        let written = written.and_then(|()| std::fs::write(self.kept.join(self.name), rows));
        if let Err(error) = written {
            panic!("{}: {error}", self.kept.display());
        }
    }
}

/// A bench that panics keeps what it had measured, and a row that says so.
impl Drop for Bench {
    fn drop(&mut self) {
        if self.measures && std::thread::panicking() {
            self.held("came to its end", 0.0, Limit::Least(1.0));
            self.keep();
        }
    }
}

impl Figure {
    fn holds(&self) -> bool {
        match self.limit {
            None => true,
            Some(Limit::Most(most)) => self.value <= most,
            Some(Limit::Least(least)) => self.value >= least,
        }
    }

    /// Its limit, or nothing.
    fn bounds(&self) -> String {
        let limit = self.limit.as_ref();
        limit.map_or_else(String::new, Limit::to_string)
    }

    fn said(&self) -> String {
        let missed = if self.holds() { "" } else { "MISSED" };
        let (what, value, limit) = (&self.what, number(self.value), self.bounds());
        let said = format!("{what:<66} {value:>12}   {limit:<16} {missed}");
        said.trim_end().to_owned()
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Most(most) => write!(f, "at most {}", number(*most)),
            Self::Least(least) => write!(f, "at least {}", number(*least)),
        }
    }
}

/// Three digits behind the point of what is small, none of what is large.
fn number(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.3}")
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    // Benches without a test harness include this file too. They leave out the function marked as a test, and then the imports
    // are unused.
    #![allow(clippy::unwrap_used, unused_imports)]

    use std::process::{Command, Output};

    use super::*;

    const PLAYED: &str = "SIGNET_PLAYED_BENCH";

    /// The bench that measures ends its process, so that it is played in one of its own: this test once more.
    #[test]
    fn a_figure_beyond_its_limit_is_printed_and_kept_with_all_others_and_fails_at_the_end() {
        if let Some(mut bench) = playing() {
            bench.held("slow, ms", 3.0, Limit::Most(2.0));
            bench.held("fast, a second", 5.0, Limit::Least(1.0));
            bench.figure("size, KiB", 12.5);
            let _server = Server;
            bench.end();
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let played = played(dir.path(), "a_figure_beyond_its_limit");
        let said = String::from_utf8(played.stdout).unwrap();
        assert_eq!(played.status.code(), Some(101), "{said}");
        assert!(said.contains("the server is ended"), "{said}");
        let kept = std::fs::read_to_string(dir.path().join("played")).unwrap();
        let rows = [
            "| played | slow, ms | 3 | at most 2 | **missed** |",
            "| played | fast, a second | 5 | at least 1 |  |",
            "| played | size, KiB | 12.5 |  |  |",
        ];
        assert_eq!(kept.lines().collect::<Vec<_>>(), rows);
        for figure in ["slow, ms", "fast, a second", "size, KiB"] {
            assert!(said.contains(figure), "{said}");
        }
        let (_, missed) = said.split_once("played missed:").unwrap();
        assert!(
            missed.contains("slow, ms") && !missed.contains("fast"),
            "{said}"
        );
    }

    #[test]
    fn a_bench_that_panics_keeps_the_rows_that_it_had() {
        if let Some(mut bench) = playing() {
            bench.figure("size, KiB", 12.5);
            panic!("messages are missing");
        }
        let dir = tempfile::tempdir().unwrap();
        let played = played(dir.path(), "a_bench_that_panics");
        assert_eq!(played.status.code(), Some(101), "{played:?}");
        let kept = std::fs::read_to_string(dir.path().join("played")).unwrap();
        let rows = [
            "| played | size, KiB | 12.5 |  |  |",
            "| played | came to its end | 0 | at least 1 | **missed** |",
        ];
        assert_eq!(kept.lines().collect::<Vec<_>>(), rows);
    }

    /// What a bench has running beside it.
    struct Server;

    impl Drop for Server {
        fn drop(&mut self) {
            println!("the server is ended");
        }
    }

    /// The bench, where this process is the one that plays it.
    fn playing() -> Option<Bench> {
        let kept = std::env::var_os(PLAYED)?;
        Some(Bench {
            name: "played",
            measures: true,
            kept: kept.into(),
            figures: Vec::new(),
        })
    }

    fn played(kept: &Path, test: &str) -> Output {
        let mut played = Command::new(std::env::current_exe().unwrap());
        played.args(["--nocapture", test]).env(PLAYED, kept);
        played.output().unwrap()
    }
}
