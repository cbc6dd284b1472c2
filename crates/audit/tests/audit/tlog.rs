//! Transparency logs once more, written from RFC 6962 and the C2SP documents alone, to hold against.

use std::path::Path;

use data_encoding::{BASE64, HEXLOWER};
use ed25519_dalek::{Signature, Signer as _, SigningKey, Verifier as _, VerifyingKey};
use sha2::{Digest as _, Sha256};

pub type Hash = [u8; 32];

fn sha256(parts: &[&[u8]]) -> Hash {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().into()
}

/// MTH(D[n]), by its definition.
pub fn root<T: AsRef<[u8]>>(lines: &[T]) -> Hash {
    match lines {
        [] => sha256(&[]),
        [line] => sha256(&[&[0], line.as_ref()]),
        more => {
            let split = (1..)
                .map(|bit| 1 << (bit - 1))
                .take_while(|k| *k < more.len())
                .last()
                .unwrap();
            sha256(&[&[1], &root(&more[..split]), &root(&more[split..])])
        }
    }
}

/// origin, tree size, root
pub type Head = (String, u64, Hash);

/// Opens one note with the key that has to have signed it.
pub fn open(note: &str, name: &str, key: &[u8; 32]) -> Result<Head, &'static str> {
    let (text, signatures) = note.rsplit_once("\n\n").ok_or("no empty line")?;
    let text = format!("{text}\n");
    let id = &sha256(&[name.as_bytes(), b"\n\x01", key])[..4];
    let key = VerifyingKey::from_bytes(key).map_err(|_| "no key")?;
    let mut held = 0;
    for line in signatures
        .strip_suffix('\n')
        .ok_or("no last newline")?
        .split('\n')
    {
        let (who, what) = line
            .strip_prefix("\u{2014} ")
            .and_then(|line| line.split_once(' '))
            .ok_or("no signature line")?;
        let what = BASE64.decode(what.as_bytes()).map_err(|_| "no base64")?;
        if who == name && &what[..4] == id {
            let signature = Signature::from_slice(&what[4..]).map_err(|_| "no signature")?;
            key.verify(text.as_bytes(), &signature)
                .map_err(|_| "the signature does not hold")?;
            held += 1;
        }
    }
    let lines: Vec<&str> = text.split_terminator('\n').collect();
    match (held, lines.as_slice()) {
        (0, _) => Err("not signed by the key"),
        (_, [origin, size, root]) => Ok((
            (*origin).to_owned(),
            size.parse().map_err(|_| "no size")?,
            BASE64
                .decode(root.as_bytes())
                .ok()
                .and_then(|root| root.try_into().ok())
                .ok_or("no root")?,
        )),
        _ => Err("not three lines"),
    }
}

/// Signs one note, as a thief of the key would.
pub fn sign(origin: &str, size: u64, root: &Hash, seed: &[u8; 32]) -> String {
    let key = SigningKey::from_bytes(seed);
    let text = format!("{origin}\n{size}\n{}\n", BASE64.encode(root));
    let mut bytes =
        sha256(&[origin.as_bytes(), b"\n\x01", key.verifying_key().as_bytes()])[..4].to_vec();
    bytes.extend(key.sign(text.as_bytes()).to_bytes());
    format!("{text}\n\u{2014} {origin} {}\n", BASE64.encode(&bytes))
}

/// The notes of a file: each followed by an empty line.
pub fn split(file: &str) -> Vec<String> {
    let blocks: Vec<&str> = file.split("\n\n").collect();
    let (last, blocks) = blocks.split_last().unwrap();
    assert_eq!((*last, blocks.len() % 2), ("", 0), "whole notes only");
    blocks
        .chunks(2)
        .map(|note| format!("{}\n\n{}\n", note[0], note[1]))
        .collect()
}

/// The seed in a key file.
pub fn seed(path: &Path) -> [u8; 32] {
    let text = std::fs::read_to_string(path).unwrap();
    HEXLOWER
        .decode(text.trim_end().as_bytes())
        .unwrap()
        .try_into()
        .unwrap()
}
