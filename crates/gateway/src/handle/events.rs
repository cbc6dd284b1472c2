//! Server-sent events (HTML Living Standard, section 9.2), as much of them as MCP and A2A use.

/// Gathers events from pieces of any size, each byte looked at once.
#[derive(Default)]
pub(crate) struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
}

impl Events {
    /// Takes the next piece; gives the data of each event that it completes to `event`, until that says true.
    pub(crate) fn push<E>(
        &mut self,
        piece: &[u8],
        mut event: impl FnMut(&[u8]) -> Result<bool, E>,
    ) -> Result<bool, E> {
        for byte in piece {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let line = std::mem::take(&mut self.line);
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            if !line.is_empty() {
                self.take(line);
            } else if std::mem::take(&mut self.has_data) {
                let data = std::mem::take(&mut self.data);
                if event(&data)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// One line: of `data` what it says, of everything else nothing.
    fn take(&mut self, line: &[u8]) {
        let Some(rest) = line.strip_prefix(b"data") else {
            return;
        };
        let value = match rest.strip_prefix(b":") {
            Some(value) => value.strip_prefix(b" ").unwrap_or(value),
            None if rest.is_empty() => rest,
            // The line belongs to another field, whose name only begins with `data`, such as `database`: ignore it.
            None => return,
        };
        if self.has_data {
            self.data.push(b'\n');
        }
        self.has_data = true;
        self.data.extend_from_slice(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &str, size: usize) -> Vec<String> {
        let (mut events, mut found) = (Events::default(), Vec::new());
        for piece in text.as_bytes().chunks(size) {
            let seen = events.push(piece, |data| {
                found.push(String::from_utf8(data.to_vec()).unwrap());
                Ok::<_, ()>(false)
            });
            assert_eq!(seen, Ok(false));
        }
        found
    }

    #[test]
    fn events_are_the_same_in_whatever_pieces_they_come() {
        let text = ": hello\r\n\r\nid: 1\ndata: {\"a\":\ndata:1}\n\ndatabase: x\nevent: message\ndata\n\ndata: open";
        for size in [1, 2, 3, 1000] {
            assert_eq!(events(text, size), ["{\"a\":\n1}", ""], "{size}");
        }
    }
}
