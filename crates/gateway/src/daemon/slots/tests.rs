use super::*;

fn caller(name: &str) -> Arc<str> {
    name.into()
}

/// As many places as that caller can have now.
fn all_of(places: &CallSlots, name: &str, lasting: Lasting) -> Vec<CallSlot> {
    std::iter::from_fn(|| places.take_now(&caller(name), lasting)).collect()
}

#[tokio::test(start_paused = true)]
async fn calls_that_wait_take_no_place_of_those_that_are_done_at_once() {
    let places = CallSlots::new();
    let _waiting: Vec<_> = ["a", "b", "c", "d", "e", "f"]
        .iter()
        .flat_map(|name| all_of(&places, name, Lasting::AWhile))
        .collect();
    let _kept: Vec<_> = ["a", "b", "c", "d", "e", "f"]
        .iter()
        .flat_map(|name| all_of(&places, name, Lasting::AsLongAsItsLink))
        .collect();
    for name in ["a", "z"] {
        let caller = caller(name);
        let place = places.take(&caller, Lasting::AtOnce, Duration::ZERO);
        assert!(place.await.is_ok(), "{name}");
    }
}

#[test]
fn one_caller_has_half_of_the_places_and_there_is_one_for_the_next() {
    let places = CallSlots::new();
    let first = all_of(&places, "one", Lasting::AsLongAsItsLink);
    assert_eq!(first.len(), STREAMS / 2);
    let second = all_of(&places, "two", Lasting::AsLongAsItsLink);
    assert_eq!(second.len(), STREAMS / 4);
    assert!(!all_of(&places, "three", Lasting::AsLongAsItsLink).is_empty());
    drop((first, second));
    let kind = places.of(Lasting::AsLongAsItsLink);
    assert!(kind.taken.locked().by_caller.is_empty() && kind.taken.locked().all == 0);
}

#[test]
fn neither_streams_nor_leases_of_many_callers_take_all_places_of_the_other() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    for (taken, left, always) in [
        (Lasting::AsLongAsItsLink, Lasting::Received, KEPT - STREAMS),
        (Lasting::Received, Lasting::AsLongAsItsLink, KEPT - RECEIVED),
    ] {
        let places = CallSlots::new();
        let all = |lasting| -> Vec<CallSlot> {
            let each = names.iter().flat_map(|name| all_of(&places, name, lasting));
            each.collect()
        };
        let held = all(taken);
        assert_eq!(held.len(), KEPT - always, "{taken:?}");
        // Callers hold all slots that streams (or leases) may take. The others are kept for leases (or streams), so the same
        // caller still gets one of those.
        assert!(places.take_now(&caller("a"), left).is_some());
        assert_eq!(all(left).len(), always, "{left:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_finds_no_place_waits_in_line_and_has_the_next_one() {
    let places = Arc::new(CallSlots::new());
    let mut held = all_of(&places, "one", Lasting::AWhile);
    let waits = |name: &'static str| {
        let places = Arc::clone(&places);
        tokio::spawn(async move {
            let patience = Duration::from_secs(60);
            places.take(&caller(name), Lasting::AWhile, patience).await
        })
    };
    let (first, second) = (waits("one"), waits("one"));
    tokio::task::yield_now().await;
    assert!(places.has_line(Lasting::AWhile));
    // Caller "one" holds as many slots as it may, and caller "two" holds none: so "two" gets one of the free slots, and does
    // not wait behind the two calls of "one".
    assert!(places.take_now(&caller("two"), Lasting::AWhile).is_some());
    held.pop();
    let first = first.await.unwrap();
    assert!(first.is_ok() && !second.is_finished());
    second.abort();
    let _ = second.await;
    drop((first, held));
    assert!(!places.has_line(Lasting::AWhile));
    assert_eq!(
        places.of(Lasting::AWhile).taken.locked().all,
        0,
        "nothing is lost"
    );
}

#[test]
fn a_place_that_is_given_back_belongs_to_who_waits_before_a_newcomer_can_ask() {
    let places = CallSlots::new();
    let mut held: Vec<_> = (0..WAITING)
        .map(|n| places.take_now(&caller(&n.to_string()), Lasting::AWhile))
        .collect();
    let pool = places.of(Lasting::AWhile);
    let waits = holder(&caller("waits"), Lasting::AWhile);
    let _turn = pool.ask(&waits).err().expect("none is free");
    let gone = held.pop().flatten().unwrap();
    // Dropping a slot makes this call while it holds the lock: the slot goes to whoever waits first, so that no newcomer finds
    // it free.
    let next = pool.taken.locked().release(&gone.holder, pool);
    assert!(next.iter().all(|next| next.holder == waits) && next.len() == 1);
    let newcomer = places.take_now(&caller("newcomer"), Lasting::AWhile);
    assert!(newcomer.is_none(), "it jumped the line");
    // `release` has already given back the slot `gone`, so dropping `gone` must not give the slot back again.
    std::mem::forget(gone);
}

#[test]
fn receivers_make_no_room_for_a_stream_that_waits_for_other_streams() {
    let places = CallSlots::new();
    let _streams: Vec<_> = ["a", "b", "c", "d", "e"]
        .iter()
        .flat_map(|name| all_of(&places, name, Lasting::AsLongAsItsLink))
        .collect();
    let pool = places.of(Lasting::AsLongAsItsLink);
    let turn = pool.ask(&holder(&caller("f"), Lasting::AsLongAsItsLink));
    assert!(turn.is_err() && places.has_line(Lasting::AsLongAsItsLink));
    assert!(!places.has_line(Lasting::Received), "in vain");
    let _receives = all_of(&places, "a", Lasting::Received);
    let waits = pool.ask(&holder(&caller("a"), Lasting::Received));
    assert!(waits.is_err() && places.has_line(Lasting::Received));
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_in_line_for_ever() {
    let places = CallSlots::new();
    let _held = all_of(&places, "one", Lasting::AtOnce);
    let began = tokio::time::Instant::now();
    let patience = Duration::from_secs(10);
    let late = places.take(&caller("one"), Lasting::AtOnce, patience).await;
    assert!(matches!(late, Err(DoorError::Busy)) && began.elapsed() == patience);
    let next = places.take(&caller("two"), Lasting::AtOnce, patience).await;
    assert!(next.is_ok(), "who gave up stands in nobody's way");
}
