//! Envelopes in what others posted: a block of code, or a file. Whoever posted them proves nothing.

use serde::Deserialize;

/// A message of a channel, as far as it is looked at.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ChannelPost {
    pub(crate) id: Snowflake,
    #[serde(default)]
    pub(crate) content: String,
    #[serde(default)]
    pub(crate) attachments: Vec<Attachment>,
}

/// A file of a message.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Attachment {
    #[serde(default)]
    pub(crate) filename: String,
    #[serde(default)]
    pub(crate) size: u64,
    #[serde(default)]
    pub(crate) url: String,
}

/// An id of Discord's: it rises with time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Snowflake(pub(crate) u64);

impl<'de> Deserialize<'de> for Snowflake {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Discord writes ids as texts, because many readers of JSON hold no whole number of 64 bits: so read a text, and parse
        // the number.
        let text = String::deserialize(deserializer)?;
        let id = text
            .parse()
            .map_err(|_| serde::de::Error::custom("no snowflake"))?;
        Ok(Self(id))
    }
}

impl ChannelPost {
    /// What may be an envelope in its text: the first block of code that begins as an object does.
    pub(crate) fn block(&self) -> Option<&str> {
        let mut rest = self.content.as_str();
        while let Some((_, opened)) = rest.split_once(FENCE) {
            let (inside, after) = opened.split_once(FENCE)?;
            let inside = inside.strip_prefix("json").unwrap_or(inside).trim();
            if inside.starts_with('{') {
                return Some(inside);
            }
            rest = after;
        }
        None
    }

    /// The file that may be an envelope, where it is of a size that one can have.
    pub(crate) fn file(&self, most: usize) -> Option<&Attachment> {
        let is_envelope = |file: &&Attachment| {
            let is_json = file
                .filename
                .rsplit_once('.')
                .is_some_and(|(_, kind)| kind == "json");
            is_json && (1..=most as u64).contains(&file.size)
        };
        self.attachments.iter().find(is_envelope)
    }
}

const FENCE: &str = "```";

#[cfg(test)]
mod tests {
    use super::*;

    fn post(content: &str) -> ChannelPost {
        serde_json::from_value(
            serde_json::json!({"id": "7", "content": content, "author": {"id": "1"}}),
        )
        .unwrap()
    }

    #[test]
    fn a_block_is_taken_as_it_was_posted() {
        assert_eq!(
            post("x\n```json\n{\"a\": 1}\n```\ny").block(),
            Some("{\"a\": 1}")
        );
        assert_eq!(post("```{}```").block(), Some("{}"));
        assert_eq!(
            post("```rust\nfn x() {}\n``` ```json\n{}\n```").block(),
            Some("{}")
        );
        for none in [
            "",
            "{}",
            "```",
            "```json\n{}",
            "``` ```",
            "```json\n[{}]\n```",
        ] {
            assert_eq!(post(none).block(), None, "{none}");
        }
    }

    #[test]
    fn a_file_counts_by_its_name_and_a_size_that_an_envelope_can_have() {
        let with = |name: &str, size: u64| {
            let file = serde_json::json!({"filename": name, "size": size, "url": "https://x/"});
            let post: ChannelPost =
                serde_json::from_value(serde_json::json!({"id": "7", "attachments": [file]}))
                    .unwrap();
            post.file(100).is_some()
        };
        assert!(with("a.json", 100) && !with("a.json", 101) && !with("a.json", 0));
        assert!(!with("a.exe", 10) && !with("json", 10));
    }

    #[test]
    fn an_id_is_a_number_in_quotes_and_nothing_else() {
        for odd in [
            r#"{"id":7}"#,
            r#"{"id":"x"}"#,
            r#"{"id":"99999999999999999999"}"#,
            "{}",
        ] {
            assert!(serde_json::from_str::<ChannelPost>(odd).is_err(), "{odd}");
        }
    }
}
