//! Finds the parts of a string that need no attention, eight bytes at a time.

/// The length of the longest prefix without a quote, a backslash or a control character: what
/// parser and writer may copy as it is.
pub(super) fn plain_len(bytes: &[u8]) -> usize {
    let (words, tail) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let marks = special_marks(u64::from_le_bytes(*word));
        if marks != 0 {
            return index * 8 + marks.trailing_zeros() as usize / 8;
        }
    }
    let plain = tail
        .iter()
        .position(|byte| is_special(*byte))
        .unwrap_or(tail.len());
    words.len() * 8 + plain
}

fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Sets the top bit of each special byte. Borrowing may also mark bytes above a special one, so
/// only the lowest mark counts.
fn special_marks(word: u64) -> u64 {
    let below = |word: u64, bound: u8| word.wrapping_sub(ONES * u64::from(bound)) & !word;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, 0x20) | equal(b'"') | equal(b'\\')) & (ONES * 0x80)
}

const ONES: u64 = 0x0101_0101_0101_0101;

#[cfg(test)]
mod tests {
    use super::{is_special, plain_len};

    #[test]
    fn every_byte_is_judged_alike_at_every_place() {
        for byte in 0..=u8::MAX {
            for place in 0..20 {
                let mut bytes = [b'a'; 20];
                bytes[place] = byte;
                let expected = if is_special(byte) { place } else { bytes.len() };
                assert_eq!(plain_len(&bytes), expected, "byte {byte:#04x} at {place}");
            }
        }
    }

    #[test]
    fn the_first_of_two_special_bytes_counts() {
        for (first, second) in [(b'"', b'#'), (b'"', b'"'), (0x1f, b'!'), (b'\\', b']')] {
            assert_eq!(
                plain_len(&[b'a', b'a', first, second, b'a', b'a', b'a', b'a']),
                2
            );
        }
        assert_eq!(plain_len(b"#####\"##"), 5);
    }
}
