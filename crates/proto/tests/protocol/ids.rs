//! Identifiers have one spelling each; every other spelling is refused.

use proptest::prelude::*;
use signet_proto::ids::{
    AgentId, Digest, IdError, KeyId, MessageId, PrincipalId, SessionId, Version, decode_base64url,
    encode_base64url,
};

const V7: &str = "0192f0c1-7c00-7abc-8def-0123456789ab";
const EMPTY_HASH: &str = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU";
const EMPTY_HEX: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

#[test]
fn names_of_the_grammar_are_read_and_written_alike() {
    for text in ["a", "0", "agent-alice-001", "a-", "a--b", &"a".repeat(63)] {
        assert_eq!(text.parse::<AgentId>().unwrap().as_str(), text);
        assert_eq!(text.parse::<PrincipalId>().unwrap().to_string(), text);
    }
    assert_eq!(
        format!("{:?}", "bob".parse::<AgentId>().unwrap()),
        "AgentId(bob)"
    );
}

#[test]
fn names_that_could_escape_a_subject_a_path_or_a_log_line_are_refused() {
    let long = "a".repeat(64);
    let hostile = [
        "", "-a", "A", "a.b", "a*", "a>", "a/b", "..", "a b", "a\n", "a\0", "a_b", "é", "ａ", &long,
    ];
    for text in hostile {
        assert_eq!(text.parse::<AgentId>(), Err(IdError::Name), "{text:?}");
        assert_eq!(text.parse::<PrincipalId>(), Err(IdError::Name), "{text:?}");
    }
}

#[test]
fn a_message_id_is_read_and_written_alike() {
    let id: MessageId = V7.parse().unwrap();
    assert_eq!(id.to_string(), V7);
    assert_eq!(id.as_bytes()[..6], [0x01, 0x92, 0xf0, 0xc1, 0x7c, 0x00]);
}

#[test]
fn another_version_variant_or_spelling_of_a_message_id_is_refused() {
    let hostile = [
        "",
        "0192f0c1-7c00-4abc-8def-0123456789ab",
        "0192f0c1-7c00-8abc-8def-0123456789ab",
        "0192f0c1-7c00-7abc-0def-0123456789ab",
        "0192f0c1-7c00-7abc-cdef-0123456789ab",
        "0192f0c1-7c00-7abc-edef-0123456789ab",
        "0192F0C1-7C00-7ABC-8DEF-0123456789AB",
        "0192f0c17c007abc8def0123456789ab",
        "{0192f0c1-7c00-7abc-8def-0123456789ab}",
        "urn:uuid:0192f0c1-7c00-7abc-8def-0123456789ab",
        "0192f0c1-7c00-7abc-8def-0123456789ab ",
        "0192f0c1-7c00-7abc-8def-0123456789a",
        "0192f0c17-c00-7abc-8def-0123456789ab",
        "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
    ];
    for text in hostile {
        assert_eq!(
            text.parse::<MessageId>(),
            Err(IdError::MessageId),
            "{text:?}"
        );
    }
}

#[test]
fn a_digest_has_two_forms() {
    let digest = Digest::of(&[]);
    assert_eq!(
        (digest.to_string().as_str(), digest.to_hex().as_str()),
        (EMPTY_HASH, EMPTY_HEX)
    );
    assert_eq!(EMPTY_HASH.parse(), Ok(digest));
    assert_eq!(Digest::from_hex(EMPTY_HEX), Ok(digest));
    assert_eq!(Digest::of(&[b"sig", b"", b"net"]), Digest::of(&[b"signet"]));
    assert_ne!(Digest::of(&[b"signet"]), digest);
}

#[test]
fn trailing_bits_padding_and_foreign_alphabets_of_a_digest_are_refused() {
    let mut hostile: Vec<_> = ["V", "W", "X"]
        .map(|last| format!("{}{last}", &EMPTY_HASH[..42]))
        .into();
    hostile.extend([
        String::new(),
        EMPTY_HASH[..42].into(),
        format!("{EMPTY_HASH}A"),
        format!("{EMPTY_HASH}="),
        EMPTY_HASH.replace('-', "+"),
        EMPTY_HASH.replace('_', "/"),
        format!(" {}", &EMPTY_HASH[..42]),
        format!("\n{}", &EMPTY_HASH[1..]),
        format!("é{}", &EMPTY_HASH[..41]),
    ]);
    for text in hostile {
        assert_eq!(text.parse::<Digest>(), Err(IdError::Digest), "{text:?}");
        assert_eq!(text.parse::<SessionId>(), Err(IdError::Digest), "{text:?}");
        assert_eq!(
            format!("ed25519:{text}").parse::<KeyId>(),
            Err(IdError::KeyId),
            "{text:?}"
        );
    }
}

#[test]
fn upper_case_and_wrong_lengths_of_hexadecimal_are_refused() {
    let upper = EMPTY_HEX.to_uppercase();
    for text in [
        "",
        &EMPTY_HEX[..62],
        &EMPTY_HEX[..63],
        &format!("{EMPTY_HEX}00"),
        &upper,
    ] {
        assert_eq!(Digest::from_hex(text), Err(IdError::Hex), "{text:?}");
    }
}

#[test]
fn a_key_id_names_the_whole_hash_of_the_key() {
    let id = KeyId::of_key(&[7; 32]);
    assert_eq!(
        id.to_string(),
        format!("ed25519:{}", Digest::of(&[&[7; 32]]))
    );
    assert_eq!(id.to_string().parse(), Ok(id));
    for text in ["", "ed25519:", EMPTY_HASH, &format!("Ed25519:{EMPTY_HASH}")] {
        assert_eq!(text.parse::<KeyId>(), Err(IdError::KeyId), "{text:?}");
    }
}

#[test]
fn versions_are_three_plain_numbers_in_numerical_order() {
    let parse = |text: &str| text.parse::<Version>();
    assert_eq!(
        parse("1.20.9999"),
        Ok(Version {
            major: 1,
            minor: 20,
            patch: 9999
        })
    );
    assert_eq!(parse("0.0.0").unwrap().to_string(), "0.0.0");
    assert!(parse("1.10.0").unwrap() > parse("1.9.9").unwrap());
    let hostile = [
        "",
        "1",
        "1.0",
        "1.0.0.0",
        "01.0.0",
        "1.00.0",
        "1.0.-1",
        "1.0.+1",
        "1.0.10000",
        "1.0.0-rc1",
        "1.0.",
        ".0.0",
        " 1.0.0",
        "1.0.0\n",
        "v1.0.0",
        "1,0,0",
        "1.0.١",
    ];
    for text in hostile {
        assert_eq!(parse(text), Err(IdError::Version), "{text:?}");
    }
}

#[test]
fn base64url_has_one_spelling() {
    assert_eq!(encode_base64url(&[0xfb, 0xff]), "-_8");
    assert_eq!(decode_base64url("-_8"), Ok(vec![0xfb, 0xff]));
    for text in ["-_9", "-_8=", "+/8", "A", "AAAAA", "-_ 8", "-_8\n"] {
        assert_eq!(decode_base64url(text), Err(IdError::Base64Url), "{text:?}");
    }
}

proptest! {
    #[test]
    fn every_made_message_id_is_a_valid_one(ms in 0..1_u64 << 48, random: [u8; 10]) {
        let id = MessageId::from_parts(ms, random);
        prop_assert_eq!(id.to_string().parse(), Ok(id));
        prop_assert_eq!(&id.as_bytes()[..6], &ms.to_be_bytes()[2..]);
    }

    #[test]
    fn message_ids_sort_by_time(early in 0..1_u64 << 47, late in 0..1_u64 << 47, a: [u8; 10], b: [u8; 10]) {
        prop_assume!(early < late);
        prop_assert!(MessageId::from_parts(early, a) < MessageId::from_parts(late, b));
    }

    #[test]
    fn digests_survive_both_forms(bytes: [u8; 32]) {
        let digest = Digest(bytes);
        prop_assert_eq!(digest.to_string().parse(), Ok(digest));
        prop_assert_eq!(Digest::from_hex(&digest.to_hex()), Ok(digest));
        prop_assert_eq!(decode_base64url(&encode_base64url(&bytes)), Ok(bytes.to_vec()));
    }

    #[test]
    fn what_is_read_is_written_alike(text in "[a-zA-Z0-9_.=-]{0,44}") {
        if let Ok(bytes) = decode_base64url(&text) {
            prop_assert_eq!(encode_base64url(&bytes), text.clone());
        }
        if let Ok(version) = text.parse::<Version>() {
            prop_assert_eq!(version.to_string(), text);
        }
    }
}
