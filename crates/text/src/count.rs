//! How many there are, in words.

/// `count` and what is counted: `1 message`, `2 messages`. Every plural here ends with an s.
#[must_use]
pub fn counted(count: u64, thing: &str) -> String {
    counted_as(&count.to_string(), count, thing)
}

/// The same where the number is written otherwise, such as with commas.
#[must_use]
pub fn counted_as(number: &str, count: u64, thing: &str) -> String {
    match count {
        1 => format!("{number} {thing}"),
        _ => format!("{number} {thing}s"),
    }
}

/// What is counted with what it does: `1 message waits`, `2 messages wait`. `does` is of one of them.
#[must_use]
pub fn counted_doing(count: u64, thing: &str, does: &str) -> String {
    let does = match count {
        1 => does,
        _ => does.strip_suffix('s').unwrap_or(does),
    };
    format!("{} {does}", counted(count, thing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_told_as_one_and_all_others_as_many() {
        let told = [0, 1, 2].map(|count| counted(count, "message"));
        assert_eq!(told, ["0 messages", "1 message", "2 messages"]);
        let told = [0, 1, 2].map(|count| counted_doing(count, "message", "waits"));
        assert_eq!(
            told,
            ["0 messages wait", "1 message waits", "2 messages wait"]
        );
        assert_eq!(counted_as("1,000", 1_000, "line"), "1,000 lines");
    }
}
