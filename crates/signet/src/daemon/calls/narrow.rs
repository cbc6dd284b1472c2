//! `narrow`: a program that serves others, each with less than the socket allows, has the daemon hold them to it; and `look`: a
//! connection that is handed to a program which is not to be believed.

use std::sync::Arc;

use signet_api::{ApiError, Look, Looking, May, Narrow, Narrowed, ONLOOKERS_TIER};
use signet_proto::ids::AgentId;

use crate::control::SocketCaller;
use crate::reach::Reach;

use super::serve::named;
use super::{AnswerCall, Asker, Batch, DaemonState};

impl AnswerCall for Narrow {
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch {
        let narrowed = narrowed(&self, &asker.caller.reach).map(|reach| {
            let tier = reach.tier;
            asker.narrowing.set(SocketCaller {
                reach: Arc::new(reach),
                ..asker.caller.clone()
            });
            Narrowed { tier }
        });
        state.show::<Self>(narrowed, asker.reply)
    }
}

impl AnswerCall for Look {
    fn answer(self, state: &mut DaemonState, asker: Asker<'_>) -> Batch {
        let onlooker = looking(asker.caller);
        let tier = onlooker.reach.tier;
        asker.narrowing.set(onlooker);
        state.show::<Self>(Ok(Looking { tier }), asker.reply)
    }
}

/// The same caller with nothing left but looking. No call that it has gives any of it back.
fn looking(caller: &SocketCaller) -> SocketCaller {
    let ceiling = Reach {
        peers: None,
        tier: ONLOOKERS_TIER,
        may: May::Read,
    };
    SocketCaller {
        role: caller.role,
        reach: Arc::new(caller.reach.within(ceiling)),
        looks: true,
    }
}

/// How far the connection reaches then.
fn narrowed(asked: &Narrow, so_far: &Reach) -> Result<Reach, ApiError> {
    let peers = asked.peers.as_ref().map(|peers| {
        let peers = peers.iter().map(|peer| named::<AgentId>("peers", peer));
        peers.collect::<Result<_, _>>().map(Arc::new)
    });
    // Stay within the limits that the connection has so far: a second `narrow` must not give back what the first took away.
    Ok(so_far.within(Reach {
        peers: peers.transpose()?,
        tier: asked.tier,
        may: if asked.read { May::Read } else { May::Send },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_is_never_more_than_the_connection_had_before() {
        let caller = |tier, may| SocketCaller {
            role: signet_api::Role::Person,
            reach: Arc::new(Reach {
                peers: None,
                tier,
                may,
            }),
            looks: false,
        };
        let onlooker = looking(&caller(4, May::Send));
        assert_eq!((onlooker.reach.tier, onlooker.reach.may), (2, May::Read));
        assert!(onlooker.looks);
        assert_eq!(looking(&caller(1, May::Send)).reach.tier, 1);
        assert_eq!(*looking(&onlooker).reach, *onlooker.reach);
    }

    #[test]
    fn a_narrow_connection_stays_narrow_whatever_it_asks() {
        let ask = |peers: Option<&[&str]>, tier, read| {
            let peers = peers.map(|peers| peers.iter().map(|peer| (*peer).to_owned()).collect());
            Narrow { peers, tier, read }
        };
        let bob = narrowed(&ask(Some(&["agent-bob"]), 2, true), &Reach::default()).unwrap();
        let wider = narrowed(&ask(None, 4, false), &bob).unwrap();
        assert_eq!(wider, bob);
        let nobody = narrowed(&ask(Some(&["agent-carol"]), 4, false), &bob).unwrap();
        assert!(nobody.peers.unwrap().is_empty());
        assert!(
            narrowed(&ask(Some(&["not an id"]), 1, false), &bob)
                .unwrap_err()
                .is_of_params()
        );
    }
}
