//! Bindings: whose certificate may speak for whom.

use signet_proto::certificate::{Certificate, CertificateRequest};
use signet_proto::draft::Identity;
use signet_proto::envelope::{Method, Unverified};
use signet_proto::reject::Reason;
use signet_proto::time::Timestamp;
use signet_proto::trust::{BindError, TrustStore};

use crate::forge::{message, sign};
use crate::household::{START, identity, identity_with, key};

const DAY: i64 = 24 * 3600 * 1000;

fn store(known: &[&Certificate]) -> TrustStore {
    let mut store = TrustStore::new(&identity("agent-bob", "bob").certificate);
    for certificate in known {
        assert!(store.bind(certificate).unwrap());
    }
    store
}

fn alice(serial: u64) -> Identity {
    identity_with("agent-alice", "alice", serial, |_| {})
}

/// The same principal-id under another root: mallory calls herself alice.
fn impostor(agent: &str, principal: &str) -> Certificate {
    let request = CertificateRequest {
        agent: agent.parse().unwrap(),
        principal: principal.parse().unwrap(),
        ..request_of(&identity("agent-x", "mallory").certificate)
    };
    request.sign(&key("root of mallory")).unwrap()
}

fn request_of(certificate: &Certificate) -> CertificateRequest {
    CertificateRequest {
        agent: certificate.agent.clone(),
        principal: certificate.principal.clone(),
        signing_key: certificate.signing_key.clone(),
        layers: certificate.layers,
        versions: certificate.versions.clone(),
        serial: certificate.serial,
        not_before: certificate.not_before,
        not_after: certificate.not_after,
        next_root: certificate.next_root,
    }
}

fn verdict(store: &TrustStore, from: &Identity, ms: i64) -> Result<(), Reason> {
    let value = message(from, "agent-bob", Method::Request, "m", ms);
    let unverified = Unverified::parse(&sign(value, &from.signing)).unwrap();
    unverified.verify(store.view()).verified().map(drop)
}

#[test]
fn an_older_certificate_is_good_until_its_own_end() {
    let old = identity_with("agent-alice", "alice", 1, |request| {
        request.not_after = Timestamp::from_millis(START + 10 * DAY);
    });
    let new = alice(2);
    let store = store(&[&old.certificate, &new.certificate]);
    assert_eq!(verdict(&store, &old, 0), Ok(()));
    assert_eq!(verdict(&store, &new, 0), Ok(()));
    assert_eq!(verdict(&store, &old, 10 * DAY), Ok(()));
    let after = verdict(&store, &old, 10 * DAY + 1);
    assert_eq!(after, Err(Reason::CertificateExpired));
    assert_eq!(verdict(&store, &new, 10 * DAY + 1), Ok(()));
    assert_eq!(verdict(&store, &alice(3), 0), Err(Reason::KeyUnknown));
}

#[test]
fn a_newer_certificate_of_the_same_key_replaces_what_the_older_allowed() {
    let wide = alice(1);
    let narrow = CertificateRequest {
        serial: 2,
        not_after: Timestamp::from_millis(START + DAY),
        ..request_of(&wide.certificate)
    };
    let narrow = narrow.sign(&key("root of alice")).unwrap();
    let store = store(&[&wide.certificate, &narrow]);
    let late = verdict(&store, &wide, 2 * DAY);
    assert_eq!(late, Err(Reason::CertificateExpired));
}

#[test]
fn a_lower_serial_is_refused_and_so_are_two_certificates_of_one_serial() {
    let mut store = store(&[&alice(2).certificate]);
    assert_eq!(
        store.bind(&alice(2).certificate),
        Ok(false),
        "the very same one"
    );
    let twin = identity_with("agent-alice", "alice", 2, |request| {
        request.not_after = Timestamp::from_millis(START + DAY);
    });
    for other in [&alice(1).certificate, &twin.certificate] {
        let agent = other.agent.clone();
        assert_eq!(store.bind(other), Err(BindError::Older(agent)));
        let admitted = store.view().admit(other).map(drop);
        assert_eq!(admitted, Err(Reason::SerialRolledBack));
    }
}

#[test]
fn another_root_for_a_pinned_principal_is_an_alarm_for_any_agent_of_it() {
    let mut store = store(&[&alice(1).certificate]);
    for agent in ["agent-alice", "agent-zoe"] {
        let forged = impostor(agent, "alice");
        let admitted = store.view().admit(&forged).map(drop);
        assert_eq!(admitted, Err(Reason::RootChanged), "{agent}");
        let principal = "alice".parse().unwrap();
        assert_eq!(store.bind(&forged), Err(BindError::RootChanged(principal)));
    }
}

#[test]
fn an_agent_id_belongs_to_one_root() {
    let mut store = store(&[&alice(1).certificate]);
    let forged = impostor("agent-alice", "mallory");
    assert_eq!(
        store.view().admit(&forged).map(drop),
        Err(Reason::AgentIdTaken)
    );
    let agent = "agent-alice".parse().unwrap();
    assert_eq!(store.bind(&forged), Err(BindError::Taken(agent)));
}

/// Otherwise a pinned root could take the name of a person whom we do not know yet, by handshake
/// alone, and the real one's `peer add` would then be the one that fails.
#[test]
fn a_pinned_root_cannot_rename_its_principal_by_a_newer_certificate() {
    let mut store = store(&[&alice(1).certificate]);
    let renamed = CertificateRequest {
        principal: "carol".parse().unwrap(),
        ..request_of(&alice(2).certificate)
    };
    let renamed = renamed.sign(&key("root of alice")).unwrap();
    assert_eq!(
        store.view().admit(&renamed).map(drop),
        Err(Reason::AgentIdTaken)
    );
    let agent = "agent-alice".parse().unwrap();
    assert_eq!(store.bind(&renamed), Err(BindError::Taken(agent)));
    let carol = identity("agent-carol", "carol");
    assert_eq!(store.bind(&carol.certificate), Ok(true));
}

#[test]
fn pinning_a_root_binds_no_further_agent_ids() {
    let store = store(&[&alice(1).certificate]);
    let second = identity("agent-alice-2", "alice");
    let admitted = store.view().admit(&second.certificate).map(drop);
    assert_eq!(admitted, Err(Reason::AgentUnknown));
    assert_eq!(verdict(&store, &second, 0), Err(Reason::AgentUnknown));
    let stranger = identity("agent-dave", "dave");
    let admitted = store.view().admit(&stranger.certificate).map(drop);
    assert_eq!(admitted, Err(Reason::PrincipalUnknown));
}

#[test]
fn nobody_is_bound_under_our_own_agent_id() {
    let mut store = store(&[]);
    let twin = impostor("agent-bob", "mallory");
    let agent = "agent-bob".parse().unwrap();
    assert_eq!(store.bind(&twin), Err(BindError::Myself(agent)));
}

#[test]
fn a_peer_s_lowest_version_never_falls() {
    let mut store = store(&[&alice(1).certificate]);
    let agent = "agent-alice".parse().unwrap();
    for version in ["1.1.0", "1.0.0"] {
        store.raise_lowest_version(&agent, version.parse().unwrap());
    }
    let lowest = store.view().peer(&agent).unwrap().lowest_version();
    assert_eq!(lowest, Some("1.1.0".parse().unwrap()));
}

#[test]
fn nobody_is_made_known_under_our_own_principals_name() {
    let mut store = store(&[]);
    let error = store.bind(&impostor("agent-new", "bob")).unwrap_err();
    assert!(matches!(error, BindError::RootChanged(_)), "{error}");
    let error = store
        .view()
        .admit(&impostor("agent-new", "bob"))
        .unwrap_err();
    assert_eq!(error, Reason::RootChanged);
}
