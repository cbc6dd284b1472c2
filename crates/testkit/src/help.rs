//! The help of a command, as tests read it.

/// The names of the commands that a help lists, in their order: below one heading, or below one for each group.
pub fn listed_commands(help: &str) -> Vec<String> {
    let (mut found, mut is_list) = (Vec::new(), false);
    for line in help.lines() {
        if line.ends_with(':') && !line.starts_with(' ') {
            is_list = LISTS.contains(&line);
        }
        // A description that is too long for its line goes on further to the right.
        let row = line
            .strip_prefix("  ")
            .filter(|row| is_list && !row.starts_with(' '));
        let name = row.and_then(|row| row.split_whitespace().next());
        found.extend(name.filter(|name| *name != "help").map(str::to_owned));
    }
    found
}

/// The headings of lists of commands.
pub const LISTS: [&str; 8] = [
    "Commands:",
    "First:",
    "Begin:",
    "Talk:",
    "Decide:",
    "Read:",
    "Keep:",
    "Extend:",
];
