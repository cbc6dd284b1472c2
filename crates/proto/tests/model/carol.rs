//! The attacker's own agent. It signs whatever hangs together with something that was overheard, and
//! passes other agents' nonces off as its own.

use std::sync::Arc;

use signet_proto::envelope::{Message, Method};
use signet_proto::ids::Digest;

use crate::cast::{CAROL, Flight, extend, fresh, method, start, text};
use crate::world::{State, World};

/// What Carol signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Forgery {
    pub method: Method,
    pub transcript: Option<Digest>,
    pub low: bool,
}

impl World {
    /// All flights that could be news to somebody: a transcript that nobody heard of is refused.
    pub fn forgeries(&self, state: &State) -> Vec<Forgery> {
        let of = |method, transcript, low| Forgery {
            method,
            transcript,
            low,
        };
        let mut all = vec![of(Method::Announce, None, false)];
        for (next, transcript) in self.prefixes(state) {
            all.push(of(next, Some(transcript), false));
            if next == Method::Verify {
                all.push(of(next, Some(transcript), true));
            }
        }
        all
    }

    /// The transcripts of everything that was overheard, and the flight that would come next.
    fn prefixes(&self, state: &State) -> Vec<(Method, Digest)> {
        let network = self.network(state);
        let known = self.known();
        let flights: Vec<_> = network
            .iter()
            .map(|id| &known.flights[*id as usize])
            .collect();
        let after = |wanted: Method, so_far: &[Digest]| -> Vec<Digest> {
            let of = flights.iter().filter(|flight| method(flight) == wanted);
            let fits = |flight: &&&Arc<Message>, digest: &Digest| {
                wanted == Method::Announce
                    || text(flight, "transcript") == Some(digest.to_string().as_str())
            };
            let extended = of.flat_map(|flight| {
                let fitting = so_far.iter().filter(move |digest| fits(&flight, digest));
                fitting.map(move |digest| extend(*digest, flight))
            });
            extended.collect()
        };
        let h1 = after(Method::Announce, &[start()]);
        let h2 = after(Method::Verify, &h1);
        let h3 = after(Method::Capability, &h2);
        let named =
            |method: Method, all: Vec<Digest>| all.into_iter().map(move |one| (method, one));
        named(Method::Verify, h1)
            .chain(named(Method::Capability, h2))
            .chain(named(Method::Trust, h3))
            .collect()
    }

    pub fn forge(&self, state: &State, to: usize, forgery: Forgery) -> u32 {
        let count = state.carol.len();
        let nonce = self.overheard_nonce(state);
        let mut known = self.known();
        if let Some(id) = known.forged.get(&(count, to, forgery, nonce.clone())) {
            return *id;
        }
        let mut body = match forgery.method {
            Method::Announce | Method::Verify => {
                self.cast.offer(CAROL, false, nonce.clone(), Vec::new())
            }
            _ => self.cast.granting(CAROL, false),
        };
        if forgery.method == Method::Verify {
            body.insert(
                "choice".into(),
                if forgery.low { "1.0.0" } else { "1.1.0" }.into(),
            );
        }
        if forgery.method == Method::Trust {
            body.insert("decision".into(), "granted".into());
        }
        if let Some(transcript) = forgery.transcript {
            body.insert("transcript".into(), transcript.to_string().into());
        }
        let flight = Flight {
            method: forgery.method,
            to: self.cast.id(to).clone(),
            body,
        };
        let flight = self.cast.sign(CAROL, false, count as u64, flight);
        let id = known.flight(&flight);
        known.forged.insert((count, to, forgery, nonce), id);
        id
    }

    /// Carol passes somebody else's nonce off as hers, when she has heard one.
    fn overheard_nonce(&self, state: &State) -> String {
        let network = self.network(state);
        let known = self.known();
        let heard = network.iter().rev();
        let mut nonces = heard.filter_map(|id| text(&known.flights[*id as usize], "nonce"));
        nonces
            .next()
            .map_or_else(|| fresh(CAROL, 0).to_string(), str::to_owned)
    }
}
