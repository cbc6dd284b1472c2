//! One envelope, or an array of envelopes: where each begins and ends in the body of a request.
//!
//! An array is framing and nothing more. Its elements are cut out of the body byte for byte and never written anew, because
//! a signature is over bytes. Nothing here decides whether an element is JSON: whoever judges it reads it strictly.

use bytes::Bytes;

/// The most envelopes of one array: a peer's whole window fits in a few.
pub(crate) const MOST_ENVELOPES: usize = 128;
/// The largest envelope: what a carrier of signet takes at all.
pub(crate) const LONGEST_ENVELOPE: usize = signet_proto::envelope::MAX_MESSAGE;
/// The largest body: several of the largest envelopes with what stands between them.
pub(crate) const LONGEST_BODY: usize = 4 * LONGEST_ENVELOPE + 64 * 1024;

/// A body that holds more than this carrier takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMuch;

/// The envelopes of a body, each exactly as it was sent. What is no array is one envelope, whatever it is.
pub(crate) fn envelopes(body: &Bytes) -> Result<Vec<Bytes>, TooMuch> {
    let first = body.iter().position(|byte| !is_space(*byte));
    let pieces = match first.and_then(|at| body.get(at..)) {
        Some([b'[', ..]) => elements(body, first.unwrap_or_default() + 1)?,
        _ => vec![body.clone()],
    };
    match pieces.iter().any(|piece| piece.len() > LONGEST_ENVELOPE) {
        true => Err(TooMuch),
        false => Ok(pieces),
    }
}

/// The elements of the array that is open at `from`. What is cut off or stands behind the array ends as an element that is
/// no envelope, so that it is judged and counted as what it is.
fn elements(body: &Bytes, from: usize) -> Result<Vec<Bytes>, TooMuch> {
    let mut found = Vec::new();
    let (mut start, mut depth, mut place) = (from, 0_usize, Scan::Outside);
    let mut rest = body.iter().enumerate().skip(from);
    for (at, byte) in rest.by_ref() {
        place = match (place, byte) {
            (Scan::Escaped, _) | (Scan::Outside, b'"') => Scan::Text,
            (Scan::Text, b'\\') => Scan::Escaped,
            (Scan::Text, b'"') => Scan::Outside,
            (Scan::Text, _) => Scan::Text,
            (Scan::Outside, b',') if depth == 0 => {
                push(&mut found, body, start, at)?;
                start = at + 1;
                Scan::Outside
            }
            (Scan::Outside, b']') if depth == 0 => {
                let is_empty = found.is_empty() && is_blank(body, start, at);
                if !is_empty {
                    push(&mut found, body, start, at)?;
                }
                start = at + 1;
                break;
            }
            (Scan::Outside, b'{' | b'[') => {
                depth += 1;
                Scan::Outside
            }
            (Scan::Outside, b'}' | b']') => {
                // A closing bracket too many is no error here: the parser of the envelope refuses it later.
                depth = depth.saturating_sub(1);
                Scan::Outside
            }
            (Scan::Outside, _) => Scan::Outside,
        };
    }
    if !is_blank(body, start, body.len()) {
        push(&mut found, body, start, body.len())?;
    }
    Ok(found)
}

#[derive(Clone, Copy)]
enum Scan {
    Outside,
    Text,
    Escaped,
}

fn push(found: &mut Vec<Bytes>, body: &Bytes, from: usize, to: usize) -> Result<(), TooMuch> {
    if found.len() >= MOST_ENVELOPES {
        return Err(TooMuch);
    }
    let piece = body.get(from..to).unwrap_or_default().trim_ascii();
    // The envelope is a slice of the body's memory, so nothing is copied.
    found.push(body.slice_ref(piece));
    Ok(())
}

fn is_blank(body: &[u8], from: usize, to: usize) -> bool {
    let piece = body.get(from..to).unwrap_or_default();
    piece.iter().all(|byte| is_space(*byte))
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(body: &str) -> Vec<String> {
        let pieces = envelopes(&Bytes::copy_from_slice(body.as_bytes())).unwrap();
        let text = |piece: Bytes| String::from_utf8(piece.to_vec()).unwrap();
        pieces.into_iter().map(text).collect()
    }

    #[test]
    fn one_envelope_is_the_body_to_the_last_byte() {
        for body in ["{\"a\": 1 }", " {\"a\":1}\n", "junk", "", "\"[\""] {
            assert_eq!(cut(body), [body]);
        }
    }

    #[test]
    fn elements_are_what_was_sent_and_not_what_it_means() {
        let odd = r#"{"a" : 1.0e0,"a":"\u0041, ]}\\", "b":[ {} ,[]]}"#;
        assert_eq!(cut(&format!("[{odd},\n {odd} ]")), [odd, odd]);
        assert_eq!(cut("[ ]"), Vec::<String>::new());
        assert_eq!(cut("[{},]"), ["{}", ""]);
    }

    #[test]
    fn what_is_no_array_of_envelopes_is_cut_into_junk_and_hides_nothing() {
        assert_eq!(cut("[{}"), ["{}"]);
        assert_eq!(cut("[{},\"{"), ["{}", "\"{"]);
        assert_eq!(cut("[{}] {\"b\":1}"), ["{}", "{\"b\":1}"]);
        assert_eq!(cut("[1,null]"), ["1", "null"]);
        assert_eq!(cut("[}}}},{}]"), ["}}}}", "{}"]);
    }

    #[test]
    fn an_array_of_ten_thousand_is_too_much_and_so_is_one_large_envelope() {
        let many = format!("[{}{{}}]", "{},".repeat(9_999));
        assert_eq!(envelopes(&Bytes::from(many)), Err(TooMuch));
        let most = format!("[{}{{}}]", "{},".repeat(MOST_ENVELOPES - 1));
        assert_eq!(cut(&most).len(), MOST_ENVELOPES);
        let long = format!("[{{\"a\":\"{}\"}}]", "x".repeat(LONGEST_ENVELOPE));
        assert_eq!(envelopes(&Bytes::from(long)), Err(TooMuch));
        let deep = "[".repeat(200_000);
        assert_eq!(cut(&deep).len(), 1);
    }

    /// Other implementations cut them the same way.
    #[test]
    fn the_published_bodies_are_cut_as_their_files_say() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/http");
        let mut bodies = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            let exchange: serde_json::Value = serde_json::from_str(&text).unwrap();
            for post in exchange["posts"].as_array().unwrap() {
                let (body, expect) = (post["body"].as_str().unwrap(), &post["expect"]);
                match envelopes(&Bytes::copy_from_slice(body.as_bytes())) {
                    Err(TooMuch) => assert_eq!(expect["status"], 413, "{body}"),
                    Ok(_) => assert_eq!(expect["messages"], serde_json::json!(cut(body))),
                }
                bodies += 1;
            }
        }
        assert!(bodies >= 20, "{bodies} bodies are there");
    }
}
