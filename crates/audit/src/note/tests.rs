//! Checkpoints as notes: what is one, who signed it, and how a file of them is read while it grows.

use std::io::Write as _;

use super::*;

/// The example of c2sp.org/tlog-checkpoint, and the key of c2sp.org/signed-note for it.
const EXAMPLE: &str = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n\
    — example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n";

fn secret(seed: u8) -> CheckpointSecret {
    CheckpointSecret::from_seed(&Zeroizing::new([seed; 32])).unwrap()
}

fn checkpoint() -> Checkpoint {
    Checkpoint {
        origin: "signet/agent-alice-001/2026-02".into(),
        size: 256,
        root: Digest([7; 32]),
    }
}

#[test]
fn the_published_example_is_read_as_it_is_meant() {
    let note = Note::parse(EXAMPLE).unwrap();
    assert_eq!(note.checkpoint.origin, "example.com/behind-the-sofa");
    assert_eq!(note.checkpoint.size, 20_852_163);
    assert_eq!(
        format!("{}\n", note.checkpoint.text()),
        EXAMPLE.split_inclusive('\n').take(4).collect::<String>()
    );
    assert_eq!(
        (note.signatures.len(), note.signatures[0].hash),
        (1, [0x03, 0x3d, 0xe0, 0xae])
    );
}

#[test]
fn only_the_key_that_signed_counts_and_only_for_the_text() {
    let (mine, other) = (secret(1), secret(2));
    let note = mine.sign(&checkpoint());
    let parsed = Note::parse(&note).unwrap();
    assert!(parsed.is_signed_by(mine.public()));
    assert!(!parsed.is_signed_by(other.public()));
    let changed = Note::parse(&note.replacen("\n256\n", "\n257\n", 1)).unwrap();
    assert!(!changed.is_signed_by(mine.public()));
    let renamed = note.replace("2026-02", "2026-03");
    assert!(!Note::parse(&renamed).unwrap().is_signed_by(mine.public()));
}

/// A witness may sign a checkpoint as well; what it signs says nothing about the log's own key.
#[test]
fn signatures_of_other_keys_and_under_other_names_do_not_count() {
    let (mine, other) = (secret(1), secret(2));
    let note = mine.sign(&checkpoint());
    let signature = |note: &str| note.lines().last().unwrap().to_owned() + "\n";
    let spoilt = |signature: &str| {
        let (start, bytes) = signature.trim_end().rsplit_once(' ').unwrap();
        let mut bytes = BASE64.decode(bytes.as_bytes()).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        format!("{start} {}\n", BASE64.encode(&bytes))
    };
    let (own, theirs) = (signature(&note), signature(&other.sign(&checkpoint())));
    let elsewhere = spoilt(&own).replace("signet/", "witness/");
    let holds = |more: &str, key: &CheckpointSecret| {
        let note = Note::parse(&format!("{note}{more}")).unwrap();
        note.is_signed_by(key.public())
    };
    assert!(holds(&theirs, &mine) && holds(&theirs, &other));
    assert!(holds(&spoilt(&theirs), &mine) && !holds(&spoilt(&theirs), &other));
    assert!(holds(&elsewhere, &mine));
    assert!(
        !holds(&spoilt(&own), &mine),
        "one of its own spoils the note"
    );
}

#[test]
fn a_note_spelt_otherwise_is_none() {
    let note = secret(1).sign(&checkpoint());
    for (from, to) in [
        ("\n256\n", "\n0256\n"),
        ("\n256\n", "\n+256\n"),
        ("\n256\n", "\n256\nextension\n"),
        ("— ", "- "),
        ("\n\n", "\n"),
        ("signet/", ""),
    ] {
        let other = note.replacen(from, to, 1);
        let kept = Note::parse(&other).is_some_and(|note| note.is_signed_by(secret(1).public()));
        assert!(!kept, "{from:?} as {to:?}");
    }
}

#[test]
fn the_secret_does_not_print_itself() {
    let secret = secret(1);
    let printed = format!("{secret:?}");
    assert!(!printed.contains("SigningKey") && printed.contains(&secret.public().to_string()));
}

/// The key may have signed it so: what it says is still another text than a log writes.
#[test]
fn a_checkpoint_spelt_otherwise_is_none_though_its_key_signed_it() {
    let (secret, checkpoint) = (secret(1), checkpoint());
    let signed = |text: &str| {
        let mut bytes = key_hash(&checkpoint.origin, secret.public()).to_vec();
        bytes.extend_from_slice(&secret.key.sign(text.as_bytes()).to_bytes());
        let origin = &checkpoint.origin;
        Note::parse(&format!("{text}\n— {origin} {}\n", BASE64.encode(&bytes)))
    };
    let text = checkpoint.text();
    assert!(signed(&text).is_some_and(|note| note.is_signed_by(secret.public())));
    for (from, to) in [
        ("\n256\n", "\n0256\n"),
        ("\n256\n", "\n+256\n"),
        ("\n256\n", "\n\n"),
        ("=\n", "=\nextension\n"),
        ("=\n", "\n"),
        ("=\n", "="),
        (checkpoint.origin.as_str(), ""),
    ] {
        let other = text.replacen(from, to, 1);
        assert_ne!(other, text);
        assert!(signed(&other).is_none(), "{from:?} as {to:?}");
    }
}

#[test]
fn a_signature_has_a_name_and_a_note_no_more_of_them_than_witnesses_sign() {
    let note = secret(1).sign(&checkpoint());
    let (text, signature) = note.split_once("\n\n").unwrap();
    let with = |signatures: &str| Note::parse(&format!("{text}\n\n{signatures}"));
    assert_eq!(with(signature).unwrap().to_string(), note);
    let most = signature.repeat(SIGNATURES);
    assert_eq!(with(&most).unwrap().signatures.len(), SIGNATURES);
    assert!(with(&format!("{most}{signature}")).is_none());
    let encoded = signature.trim_end().rsplit_once(' ').unwrap().1;
    for other in [
        format!("—  {encoded}\n"),
        format!("— a+name {encoded}\n"),
        format!("— {encoded}\n"),
        "— name AAA=\n".to_owned(),
        signature.trim_end().to_owned(),
        String::new(),
    ] {
        assert!(with(&other).is_none(), "{other:?}");
    }
}

fn text_of(note: &NextNote) -> &'static str {
    match note {
        NextNote::Note(_) => "note",
        NextNote::Malformed => "malformed",
        NextNote::Torn => "torn",
        NextNote::End => "end",
    }
}

/// A log may be proven while its daemon writes: half a checkpoint is no fault, and is read whole later.
#[test]
fn a_note_that_is_half_there_is_read_once_it_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("checkpoints");
    let note = secret(1).sign(&checkpoint()) + "\n";
    let longer = secret(1).sign(&Checkpoint {
        size: 257,
        ..checkpoint()
    }) + "\n";
    let mut file = File::create(&path).unwrap();
    file.write_all(note.as_bytes()).unwrap();
    let mut notes = Notes::open(&path).unwrap();
    let mut next = || text_of(&notes.next_note().unwrap());
    assert_eq!((next(), next()), ("note", "end"));
    let middle = longer.find("\n\n").unwrap() + 2;
    let mut from = 0;
    for to in [1, 40, middle, middle + 9, longer.len() - 1] {
        file.write_all(&longer.as_bytes()[from..to]).unwrap();
        assert_eq!((next(), next()), ("torn", "torn"), "{to} bytes");
        from = to;
    }
    file.write_all(&longer.as_bytes()[from..]).unwrap();
    assert_eq!((next(), next()), ("note", "end"));
    assert_eq!(
        (notes.number, notes.end),
        (2, (note.len() + longer.len()) as u64)
    );
    let last = last_note(&path).unwrap().unwrap();
    assert_eq!(last.checkpoint.size, 257);
    let before = last_note_before(&path, note.len() as u64).unwrap().unwrap();
    assert_eq!(before.checkpoint.size, 256);
    assert!(last_note_before(&path, 0).unwrap().is_none());
    assert!(last_note(&dir.path().join("nowhere")).unwrap().is_none());
    assert!(last_note(dir.path()).is_err(), "that is no file");
}

#[test]
fn the_last_note_before_a_place_is_found_in_a_file_of_many() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("checkpoints");
    let of = |size| Checkpoint {
        size,
        ..checkpoint()
    };
    let (mut text, mut ends) = (String::new(), Vec::new());
    for size in 1..100 {
        text += &(secret(1).sign(&of(size)) + "\n");
        ends.push((size, text.len() as u64));
    }
    assert!(text.len() > 4 * LONGEST);
    std::fs::write(&path, text).unwrap();
    for (size, end) in ends {
        let found = last_note_before(&path, end).unwrap().unwrap();
        assert_eq!(found.checkpoint, of(size));
    }
    assert_eq!(last_note(&path).unwrap().unwrap().checkpoint, of(99));
}

#[test]
fn what_is_longer_than_a_note_can_be_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("checkpoints");
    for (length, found) in [
        (LONGEST - 1, "torn"),
        (LONGEST, "malformed"),
        (LONGEST + 9, "malformed"),
    ] {
        std::fs::write(&path, "x".repeat(length)).unwrap();
        let mut notes = Notes::open(&path).unwrap();
        assert_eq!(text_of(&notes.next_note().unwrap()), found, "{length}");
    }
    std::fs::write(&path, "x\n".repeat(3000)).unwrap();
    let mut notes = Notes::open(&path).unwrap();
    assert_eq!(text_of(&notes.next_note().unwrap()), "malformed");
    std::fs::write(&path, "neither\n\none nor\n\nthe other\n\n").unwrap();
    let mut notes = Notes::open(&path).unwrap();
    assert_eq!(text_of(&notes.next_note().unwrap()), "malformed");
    assert_eq!(text_of(&notes.next_note().unwrap()), "torn");
    assert!(last_note(&path).unwrap().is_none());
}
