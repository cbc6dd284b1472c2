//! Transcripts in documents: blocks of commands and what they print, run in the order of the page.

use std::time::{Duration, Instant};

use super::masks::Names;
use super::shell::Shell;

/// Something on a page that is run.
#[derive(Debug)]
pub enum Step<'a> {
    /// Lines of a comment that prepares what the page takes as given: they must end well.
    Before(Vec<&'a str>),
    /// A block of commands without their output: they must end well.
    Commands(Vec<&'a str>),
    /// A block of commands, each with the lines that it prints.
    Transcript(Vec<(String, Vec<&'a str>)>),
}

/// All steps of a page. Blocks of `console` are transcripts; of the blocks of `sh` those are run that a
/// comment `<!-- run -->` stands before; a comment `<!-- before: … -->` is run as well.
pub fn steps(page: &str) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    let mut lines = page.lines();
    let mut is_run = false;
    while let Some(line) = lines.next() {
        let mut until =
            |end: &str| -> Vec<&str> { lines.by_ref().take_while(|line| *line != end).collect() };
        match line {
            "<!-- run -->" => is_run = true,
            "<!-- before:" => steps.push(Step::Before(until("-->"))),
            "```console" => steps.push(Step::Transcript(chunks(&until("```")))),
            "```sh" => {
                let block = until("```");
                if std::mem::take(&mut is_run) {
                    steps.push(Step::Commands(block));
                }
            }
            _ => {}
        }
    }
    assert!(!is_run, "`<!-- run -->` stands before a block of `sh`");
    steps
}

/// A command that ends with a backslash goes on in the next line.
fn chunks<'a>(block: &[&'a str]) -> Vec<(String, Vec<&'a str>)> {
    let mut chunks: Vec<(String, Vec<&str>)> = Vec::new();
    for line in block {
        match (line.strip_prefix("$ "), chunks.last_mut()) {
            (Some(command), _) => chunks.push((command.to_owned(), Vec::new())),
            (None, Some((command, shown))) if shown.is_empty() && command.ends_with('\\') => {
                command.pop();
                command.push_str(line);
            }
            (None, Some((_, shown))) => shown.push(line),
            (None, None) => panic!("a transcript begins with `$ `: {line}"),
        }
    }
    chunks
}

/// Runs the steps of a page and compares.
pub struct Run {
    shell: Shell,
    names: Names,
}

impl Run {
    pub fn new(shell: Shell) -> Self {
        Self {
            shell,
            names: Names::default(),
        }
    }

    pub fn perform(&mut self, step: &Step<'_>) {
        match step {
            Step::Before(lines) | Step::Commands(lines) => {
                for line in whole(lines) {
                    for part in parts(&line) {
                        match part {
                            Part::Beside(command) => {
                                drop(self.shell.start(&self.names.translate(command)))
                            }
                            Part::Alone(command) => {
                                drop(self.shell.done(&self.names.translate(command)))
                            }
                        }
                    }
                }
            }
            Step::Transcript(chunks) => self.compare(chunks),
        }
    }

    fn compare(&mut self, chunks: &[(String, Vec<&str>)]) {
        let (mut beside, mut open) = (Vec::new(), Vec::new());
        for (command, shown) in chunks {
            match parts(command)[..] {
                [Part::Beside(command)] => {
                    beside.push(self.shell.start(&self.names.translate(command)));
                    open.extend_from_slice(shown);
                }
                [Part::Alone(command)] => {
                    open.extend(self.prints(command, shown, !beside.is_empty()))
                }
                _ => panic!("one command a line: {command}"),
            }
        }
        for file in beside {
            let limit = Instant::now() + PATIENCE;
            loop {
                let (said, _) = self.shell.run(&format!("cat {file}"));
                if !said.is_empty() && said.len() >= open.len() || Instant::now() > limit {
                    self.all_agree("beside", &open, &said);
                    open.clear();
                    break;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        }
        assert!(open.is_empty(), "nothing said: {open:#?}");
    }

    /// Compares what a command prints; the lines shown behind that are for a command beside it.
    fn prints<'a>(
        &mut self,
        command: &str,
        shown: &[&'a str],
        is_accompanied: bool,
    ) -> Vec<&'a str> {
        let command = self.names.translate(command);
        // A command that only looks may be repeated: the message that it is to show may arrive a moment later.
        let only_looks = LOOKS.iter().any(|verb| command.contains(verb));
        let limit = Instant::now() + if only_looks { PATIENCE } else { Duration::ZERO };
        loop {
            let (said, _) = self.shell.run(&command);
            let own = match is_accompanied {
                true => said.len().min(shown.len()),
                false => shown.len(),
            };
            let agrees = said.len() == own
                && shown
                    .iter()
                    .zip(&said)
                    .all(|(shown, said)| self.names.agree(shown, said));
            if agrees {
                return shown[own..].to_vec();
            }
            if Instant::now() >= limit {
                self.all_agree(&command, &shown[..own], &said);
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn all_agree(&mut self, command: &str, shown: &[&str], said: &[String]) {
        let agrees = shown.len() == said.len()
            && shown
                .iter()
                .zip(said)
                .all(|(shown, said)| self.names.agree(shown, said));
        assert!(
            agrees,
            "$ {command}\nthe page shows:\n{}\nit prints:\n{}\n",
            shown.join("\n"),
            said.join("\n")
        );
    }
}

enum Part<'a> {
    Alone(&'a str),
    Beside(&'a str),
}

/// The commands of a line, which may begin some beside the shell.
fn parts(line: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut from, mut quoted) = (0, false);
    for (at, c) in line.char_indices() {
        quoted ^= c == '\'';
        let alone = !quoted && c == '&' && line[..at].ends_with(' ');
        if alone && !line[at + 1..].starts_with(['&', '>', '1', '2']) {
            parts.push(Part::Beside(line[from..at].trim()));
            from = at + 1;
        }
    }
    let last = line[from..].trim();
    if !last.is_empty() && !last.starts_with('#') {
        parts.push(Part::Alone(last));
    }
    parts
}

/// Lines that end with a backslash go on in the next one.
fn whole(lines: &[&str]) -> Vec<String> {
    let text = lines.join("\n").replace("\\\n", " ");
    text.lines().map(str::to_owned).collect()
}

/// Commands that change nothing.
const LOOKS: [&str; 9] = [
    " inbox", " status", " pending", " drafts", " outbox", " audit ", " list", " show", "jq ",
];
const PATIENCE: Duration = Duration::from_secs(30);
