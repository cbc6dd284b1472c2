//! What must be possible: a model in which nothing happens proves nothing.

use signet_proto::envelope::Method;
use signet_proto::handshake::Role;
use signet_proto::ids::Digest;
use stateright::Property;

use crate::cast::{ALICE, BOB, CAROL, method};
use crate::world::{Bounds, State, World};

/// The sights that a model of these bounds must show.
pub fn sometimes(bounds: &Bounds) -> Vec<Property<World>> {
    let mut sights = vec![Property::sometimes(
        "both reach a session",
        |world, state| !common(world, state).is_empty(),
    )];
    if bounds.announces.iter().sum::<usize>() > 1 {
        sights.push(Property::sometimes(
            "both reach two sessions",
            |world, state| common(world, state).len() == 2,
        ));
    }
    if bounds.announces.iter().all(|often| *often > 0) {
        sights.push(Property::sometimes(
            "announces that cross end in one session",
            |world, state| crossed(world, state) && common(world, state).len() == 1,
        ));
    }
    if bounds.crash {
        sights.push(Property::sometimes(
            "both reach a session after a crash",
            |world, state: &State| state.crashed && !common(world, state).is_empty(),
        ));
    }
    if bounds.carol > 3 && bounds.to_carol > 0 {
        sights.push(Property::sometimes(
            "Carol has a session with both",
            |world, state| {
                let has = |who| !held(world, state, who, CAROL).is_empty();
                has(ALICE) && has(BOB)
            },
        ));
    }
    sights
}

fn held(world: &World, state: &State, who: usize, peer: usize) -> Vec<(Role, Digest)> {
    let judged = world.judged(state, who);
    let of = judged.claims.iter().filter(|claim| claim.peer == peer);
    of.map(|claim| (claim.role, claim.id)).collect()
}

/// The sessions that Alice and Bob both hold, in different roles.
fn common(world: &World, state: &State) -> Vec<Digest> {
    let bobs = held(world, state, BOB, ALICE);
    let both = |(role, id): &(Role, Digest)| {
        bobs.iter()
            .any(|(other, theirs)| theirs == id && other != role)
    };
    let alices = held(world, state, ALICE, BOB);
    alices.into_iter().filter(both).map(|(_, id)| id).collect()
}

/// Each announced before it had heard anything.
fn crossed(world: &World, state: &State) -> bool {
    [ALICE, BOB].iter().all(|who| {
        let judged = world.judged(state, *who);
        let first = judged.local.log.first();
        first.is_some_and(|line| line.own && method(&line.flight) == Method::Announce)
    })
}
