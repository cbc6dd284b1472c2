//! Words that a person pastes into a shell.

use std::path::Path;

/// A text as one word for a shell, whatever it holds.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-~+,@:=%".contains(c);
    // Quote a word where a shell would put something else: a home directory for a `~` at its beginning or behind `=` or `:`,
    // and in zsh the path of a command for `=name`.
    let is_replaced = text.starts_with(['~', '=']) || text.contains("=~") || text.contains(":~");
    match !text.is_empty() && !is_replaced && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// A path as one word for a shell.
pub fn word(path: &Path) -> String {
    quoted(&path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_a_shell_whatever_it_holds() {
        assert_eq!(word(Path::new("/srv/a+b")), "/srv/a+b");
        assert_eq!(word(Path::new("/my home/it's")), "'/my home/it'\\''s'");
        assert_eq!(word(Path::new("~/x")), "'~/x'");
        assert_eq!(quoted("a=~/b"), "'a=~/b'");
        assert_eq!(quoted("a:~/b"), "'a:~/b'");
        assert_eq!(quoted("user@host:a~b"), "user@host:a~b");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("$(id)"), "'$(id)'");
    }
}
