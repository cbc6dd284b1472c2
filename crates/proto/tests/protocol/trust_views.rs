//! What a view of the trust store shows: each decision of a person makes another view, and after a root was succeeded
//! the older one's certificates stay as good as the person and the new root let them be.

use signet_proto::certificate::Certificate;
use signet_proto::ids::Digest;
use signet_proto::reject::Reason;
use signet_proto::trust::{BindError, TrustStore, TrustView};

use crate::household::people::{revocation, revocation_by};
use crate::household::{identity, identity_under, identity_with, key};

fn store() -> TrustStore {
    TrustStore::new(&identity("agent-bob", "bob").certificate)
}

fn alices(agent: &str, serial: u64) -> Certificate {
    identity_with(agent, "alice", serial, |_| {}).certificate
}

/// The same under the root that Alice's first one names as its successor.
fn successors(agent: &str) -> Certificate {
    let third = Digest::of(&[key("third root of alice").public().as_bytes()]);
    let made = identity_under("next root of alice", agent, "alice", 1, |request| {
        request.next_root = third;
    });
    made.certificate
}

/// Bob knows two of Alice's agents; the second brought the successor of her root.
fn after_succession() -> TrustStore {
    let mut store = store();
    for agent in ["agent-alice", "agent-second"] {
        assert!(store.bind(&alices(agent, 9)).unwrap());
    }
    assert!(store.renew(&successors("agent-second")).unwrap());
    assert_eq!(admitted(&store, &alices("agent-alice", 9)), Ok(()));
    store
}

fn admitted(store: &TrustStore, certificate: &Certificate) -> Result<(), Reason> {
    store.view().admit(certificate).map(drop)
}

#[test]
fn no_decision_of_a_person_leaves_the_view_as_it_was() {
    let mut store = store();
    store.bind(&alices("agent-alice", 1)).unwrap();
    let mut before = store.view().clone();
    assert!(before.is_same(store.view()));
    let mut has_changed = |store: &TrustStore, what: &str| {
        let after: TrustView = store.view().clone();
        assert!(!before.is_same(&after) && !after.is_same(&before), "{what}");
        assert!(after.is_same(store.view()));
        before = after;
    };
    store.withdraw(&"agent-alice".parse().unwrap());
    has_changed(&store, "withdrawn");
    store.refuse(&identity("agent-eve", "eve").certificate);
    has_changed(&store, "a stranger refused");
    assert!(store.revoke(&revocation("alice", "agent-unbound", 3)));
    has_changed(&store, "an agent revoked that nobody bound");
    store.adopt_own(&identity_with("agent-bob", "bob", 2, |_| {}).certificate);
    has_changed(&store, "our own certificate renewed");
}

#[test]
fn views_of_two_agents_are_two_even_of_one_person() {
    let of = |agent: &str, principal: &str| {
        let own = identity(agent, principal).certificate;
        TrustStore::new(&own).view().clone()
    };
    assert!(!of("agent-bob", "bob").is_same(&of("agent-second", "bob")));
    assert!(!of("agent-bob", "bob").is_same(&of("agent-bob", "robert")));
}

#[test]
fn the_new_root_takes_back_what_the_old_one_signed() {
    let mut store = after_succession();
    let old = alices("agent-alice", 9);
    let said = revocation_by("next root of alice", "alice", "agent-alice", 9);
    assert!(store.revoke(&said));
    assert_eq!(admitted(&store, &old), Err(Reason::CertificateRevoked));
    assert!(store.view().trusted(&old.agent).is_none());
}

#[test]
fn who_was_withdrawn_stays_so_under_the_older_root_too() {
    let mut store = after_succession();
    let old = alices("agent-alice", 9);
    assert!(store.withdraw(&old.agent));
    assert_eq!(admitted(&store, &old), Err(Reason::TrustWithdrawn));
}

/// The person trusts the agent again; its older root is no root of anybody any more.
#[test]
fn to_trust_an_agent_again_does_not_bring_an_older_root_back() {
    let mut store = after_succession();
    let old = alices("agent-alice", 9);
    store.withdraw(&old.agent);
    assert_eq!(store.bind(&old), Ok(true));
    let alice = store.view().principal(&"alice".parse().unwrap()).unwrap();
    assert_eq!(alice.root(), key("next root of alice").public());
    assert_eq!(admitted(&store, &successors("agent-second")), Ok(()));
    assert_eq!(admitted(&store, &old), Ok(()));
}

#[test]
fn what_was_seen_of_a_root_is_its_newest_certificate() {
    let mut store = store();
    let seen = |store: &TrustStore| {
        let alice = store.view().principal(&"alice".parse().unwrap());
        alice.unwrap().seen()
    };
    store.bind(&alices("agent-alice", 7)).unwrap();
    assert_eq!(seen(&store), 7);
    store.bind(&alices("agent-second", 3)).unwrap();
    assert_eq!(seen(&store), 7);
    store.bind(&alices("agent-second", 9)).unwrap();
    assert_eq!(seen(&store), 9);
}

#[test]
fn nobody_replaces_our_own_root_or_takes_our_own_name() {
    let mut store = store();
    let ours = identity_under("root of mallory", "agent-new", "bob", 1, |_| {}).certificate;
    let named_as_we = identity("agent-bob", "mallory").certificate;
    for certificate in [ours, named_as_we] {
        let refused = store.replace_root(&certificate);
        assert_eq!(refused, Err(BindError::Myself(certificate.agent)));
    }
}

#[test]
fn why_a_binding_was_refused_has_a_name() {
    let (agent, person) = ("agent-x".parse().unwrap(), "x".parse().unwrap());
    let named = [
        (BindError::Taken(agent), "agent-id-taken"),
        (BindError::RootChanged(person), "root-changed"),
    ];
    for (error, name) in named {
        assert_eq!(error.name(), name);
    }
    let agent = || "agent-x".parse().unwrap();
    assert_eq!(BindError::Myself(agent()).name(), "reflected");
    assert_eq!(BindError::Older(agent()).name(), "serial-rolled-back");
    assert_eq!(BindError::Revoked(agent()).name(), "certificate-revoked");
}
