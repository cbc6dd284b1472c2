//! What a peer may name as its reason: what only our own side says of its messages, and what no peer can find, never
//! passes for its word.

use signet_proto::reject::{
    CAPABILITY_NEEDED, DOES_NOT_FIT, DROPPED, PEER_REVOKED, PeerReason, Reason,
};

#[test]
fn a_peer_cannot_put_the_words_of_our_own_side_into_our_mouth() {
    let own = [
        CAPABILITY_NEEDED,
        DOES_NOT_FIT,
        DROPPED,
        PEER_REVOKED,
        "missing",
        "not-approved",
        "restored-backup",
        "session-lost",
    ];
    for name in own {
        assert_eq!(PeerReason::in_receipt(name), PeerReason::Misfit, "{name}");
        assert_eq!(PeerReason::in_failure(name, 0), PeerReason::Misfit);
        assert_eq!(PeerReason::in_receipt(name).as_str(), "does-not-fit");
    }
    let later = "reason-of-a-later-table";
    assert_eq!(PeerReason::in_receipt(later), PeerReason::Later(later));
    assert_eq!(PeerReason::in_failure(later, 7), PeerReason::Later(later));
    assert_eq!(PeerReason::in_receipt(later).as_str(), later);
}

#[test]
fn a_reason_that_only_a_receiver_of_ours_could_find_is_nobodys_word() {
    for reason in [
        Reason::SignatureInvalid,
        Reason::TooLarge,
        Reason::PeerRefused,
    ] {
        let heard = PeerReason::in_receipt(reason.name());
        assert_eq!(heard, PeerReason::Misfit, "{reason}");
    }
    for reason in [Reason::TierNotGranted, Reason::KeyUnknown, Reason::Expired] {
        let heard = PeerReason::in_receipt(reason.name());
        assert_eq!(heard, PeerReason::Known(reason));
    }
}

#[test]
fn a_failure_whose_code_is_not_its_reasons_says_nothing() {
    let (name, code) = (Reason::TierNotGranted.name(), Reason::TierNotGranted.code());
    let true_one = PeerReason::Known(Reason::TierNotGranted);
    assert_eq!(PeerReason::in_failure(name, code), true_one);
    assert_eq!(PeerReason::in_failure(name, code + 1), PeerReason::Misfit);
}

#[test]
fn a_reason_is_shown_by_its_name() {
    for reason in Reason::ALL {
        assert_eq!(reason.to_string(), reason.name());
        assert_eq!(reason.to_string().parse(), Ok(*reason));
    }
}
