//! One body of JSON-RPC: the request in it, its id digit for digit, and the frame of an answer.

use serde_json::{Map, Value};
use signet_handlers::json::{self, Limits};

use super::fault::{Fault, Kind};

/// A request that was read.
pub(crate) struct Asked {
    pub(crate) id: Id,
    pub(crate) method: String,
    /// An object; an empty one where the client sent none.
    pub(crate) params: Map<String, Value>,
}

/// The id of a request as its client wrote it: `1` is not `1.0`, and neither is `"1"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Id(String);

impl Id {
    /// For an error of what has no id that could be read.
    pub(crate) fn null() -> Self {
        Self("null".to_owned())
    }

    /// A whole response with the `result`.
    pub(crate) fn result(&self, result: &Value) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, self.0)
    }

    /// A whole response with the `error`.
    pub(crate) fn error(&self, error: &Value) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, self.0)
    }
}

/// Reads a request.
///
/// # Errors
/// -32700 and -32600, with the id where one could be read; -32602 for parameters that are no object.
pub(crate) fn read(body: &[u8]) -> Result<Asked, (Id, Fault)> {
    let (spliced, id) = without_id(body);
    let value = json::parse(&spliced, LIMITS).map_err(|_| {
        let text = "Parse error: the body is not one JSON text that every reader reads alike, or is too large or too deep";
        (Id::null(), Fault::new(Kind::Parse, text))
    })?;
    let unfit = |id: &Id, what: &str| {
        let text = format!("Invalid Request: {what}");
        (id.clone(), Fault::new(Kind::Request, text))
    };
    let Value::Object(mut members) = value else {
        let what = match value.is_array() {
            true => "a batch is no call of A2A; send each call by itself",
            false => "a call is an object",
        };
        return Err(unfit(&Id::null(), what));
    };
    let id = match (members.contains_key("id"), id) {
        (true, Some(id)) => id,
        (true, None) => {
            return Err(unfit(&Id::null(), "the id is neither a text nor a number"));
        }
        (false, _) => {
            return Err(unfit(
                &Id::null(),
                "a call of A2A wants an answer, and so has an id",
            ));
        }
    };
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(unfit(&id, "jsonrpc is not \"2.0\""));
    }
    let method = match members.remove("method") {
        Some(Value::String(method)) if !method.is_empty() => method,
        _ => return Err(unfit(&id, "there is no method")),
    };
    let params = match members.remove("params") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return Err((id, Fault::params("params", "are not an object"))),
    };
    Ok(Asked { id, method, params })
}

/// The body with a zero in the place of its id, where that is a number, and the id as it is written: a reader of numbers
/// would lose digits. What is no JSON passes as it is, and is refused by the reader.
fn without_id(body: &[u8]) -> (Vec<u8>, Option<Id>) {
    let as_it_is = (body.to_vec(), None);
    let Some(range) = member(body, b"id") else {
        return as_it_is;
    };
    let Some(written) = body
        .get(range.clone())
        .and_then(|bytes| std::str::from_utf8(bytes).ok())
    else {
        return as_it_is;
    };
    match written.as_bytes().first() {
        Some(b'"') => (as_it_is.0, Some(Id(written.to_owned()))),
        Some(b'-' | b'0'..=b'9') if is_number(written) && written.len() <= LONGEST_ID => {
            let mut spliced = body.get(..range.start).unwrap_or_default().to_vec();
            spliced.push(b'0');
            spliced.extend_from_slice(body.get(range.end..).unwrap_or_default());
            (spliced, Some(Id(written.to_owned())))
        }
        _ => as_it_is,
    }
}

/// Where the value of the member `name` of the outermost object stands; the last one, where it stands twice.
fn member(body: &[u8], name: &[u8]) -> Option<std::ops::Range<usize>> {
    let mut scan = Scan { body, at: 0 };
    scan.expect(b'{')?;
    let mut found = None;
    loop {
        if scan.peek()? == b'}' {
            return found;
        }
        let named = scan.value()?;
        scan.expect(b':')?;
        let value = scan.value()?;
        let text = body.get(named.start + 1..named.end.checked_sub(1)?)?;
        if text == name {
            found = Some(value);
        }
        match scan.peek()? {
            b',' => scan.at += 1,
            b'}' => return found,
            _ => return None,
        }
    }
}

/// Finds the ends of values, without recursion and without a judgement of what they hold.
struct Scan<'a> {
    body: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    /// The next byte that is no space.
    fn peek(&mut self) -> Option<u8> {
        while matches!(self.body.get(self.at)?, b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
        self.body.get(self.at).copied()
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn value(&mut self) -> Option<std::ops::Range<usize>> {
        self.peek()?;
        let (start, mut depth) = (self.at, 0_usize);
        loop {
            match *self.body.get(self.at)? {
                b'"' => self.string()?,
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                _ if depth == 0 => self.word(),
                _ => self.at += 1,
            }
            if depth == 0 {
                return (self.at > start).then_some(start..self.at);
            }
        }
    }

    fn string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            match *self.body.get(self.at)? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) {
        let is_of_word =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        while self.body.get(self.at).is_some_and(is_of_word) {
            self.at += 1;
        }
    }
}

/// Whether the text is a number of JSON (RFC 8259, section 6).
fn is_number(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = |text: &str| digits(text.strip_prefix(['+', '-']).unwrap_or(text));
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(unsigned)
}

/// A message of the daemon's with all that A2A puts around it. The listener has a limit of its own.
const LIMITS: Limits = Limits {
    bytes: 4 << 20,
    depth: 72,
    values: 40_000,
};
const LONGEST_ID: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn code(body: &[u8]) -> (String, i64) {
        match read(body) {
            Ok(asked) => (asked.id.0, 0),
            Err((id, fault)) => (id.0, fault.kind().code()),
        }
    }

    #[test]
    fn an_id_comes_back_digit_for_digit() {
        for id in [
            "1",
            "1.0",
            "\"1\"",
            "-0",
            "1e3",
            "1E+3",
            "0.10",
            "12345678901234567890123",
            "\"\\u0031\"",
            "\"\"",
        ] {
            let body =
                format!(r#"{{"jsonrpc":"2.0", "id" : {id} ,"method":"x","params":{{"id":7}}}}"#);
            let asked = read(body.as_bytes()).ok().unwrap();
            assert_eq!(asked.id.0, id);
            assert_eq!(asked.params["id"], 7);
            assert_eq!(
                asked.id.result(&Value::Null),
                format!(r#"{{"jsonrpc":"2.0","id":{id},"result":null}}"#)
            );
        }
    }

    #[test]
    fn what_is_no_call_is_refused_by_its_code() {
        let null = || "null".to_owned();
        for (body, expected) in [
            (&b"{"[..], (null(), -32700)),
            (b"", (null(), -32700)),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"} 1",
                (null(), -32700),
            ),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"x\"}",
                (null(), -32700),
            ),
            (b"{\"id\":\"\xff\"}", (null(), -32700)),
            (b"[]", (null(), -32600)),
            (
                b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}]",
                (null(), -32600),
            ),
            (b"1", (null(), -32600)),
            (b"{\"jsonrpc\":\"2.0\",\"method\":\"x\"}", (null(), -32600)),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"}",
                (null(), -32600),
            ),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"x\"}",
                (null(), -32600),
            ),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"x\"}",
                (null(), -32600),
            ),
            (
                b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"x\"}",
                ("1".to_owned(), -32600),
            ),
            (b"{\"id\":1,\"method\":\"x\"}", ("1".to_owned(), -32600)),
            (b"{\"jsonrpc\":\"2.0\",\"id\":1}", ("1".to_owned(), -32600)),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}",
                ("1".to_owned(), -32600),
            ),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":[]}",
                ("1".to_owned(), -32602),
            ),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":null}",
                ("1".to_owned(), 0),
            ),
        ] {
            assert_eq!(code(body), expected, "{}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn ten_thousand_arrays_within_each_other_cost_no_stack() {
        let deep = format!(
            r#"{{"jsonrpc":"2.0","params":{}{},"id":1}}"#,
            "[".repeat(10_000),
            "]".repeat(10_000)
        );
        assert_eq!(code(deep.as_bytes()), ("null".to_owned(), -32700));
    }

    #[test]
    fn no_body_makes_the_scanner_read_beyond_it() {
        let body = br#"{"a\"b":[{"x":"}"}],"id":"k\\","z":-1.5e3}"#;
        assert_eq!(
            member(body, b"id").map(|at| &body[at]),
            Some(&b"\"k\\\\\""[..])
        );
        for end in 0..body.len() {
            assert_eq!(member(&body[..end], b"id").filter(|at| at.end > end), None);
        }
        for odd in [
            &b"{\"id\":"[..],
            b"{\"id\":\"\\",
            b"{]}",
            b"{\"id\":1]",
            b"{:}",
            b"{,}",
        ] {
            assert_eq!(member(odd, b"id"), None);
        }
    }
}
