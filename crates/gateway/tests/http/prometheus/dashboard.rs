//! The questions of the dashboard of `examples/metrics`, put to a real Prometheus: no distribution here has Grafana itself.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use signet_testkit::bus::{Sender, Watch, sender};
use signet_testkit::{House, eventually};

use super::server::{Prometheus, example};
use super::{METRICS, key_to_numbers};
use crate::client::Gateway;
use crate::metrics::{address, tells_numbers};

#[test]
#[ignore = "scripts/try-metrics runs it, with a Prometheus"]
fn each_question_of_the_dashboard_has_an_answer_whose_legends_tell_its_series_apart() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    for home in [&mut alice, &mut bob] {
        tells_numbers(home);
        home.start();
    }
    let secret = key_to_numbers(&house, &[&alice, &bob]);
    let (hers, his) = (
        Gateway::start(&alice, METRICS),
        Gateway::start(&bob, METRICS),
    );
    let targets = [("alice", address(&hers)), ("bob", address(&his))];
    let prometheus = Prometheus::start(&house.path(""), &secret, &targets);
    let dashboard = std::fs::read_to_string(example("dashboard.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();

    // The variable of the agents offers both of them.
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let agents = variables.iter().find(|one| one["name"] == "agent").unwrap();
    let question = agents["query"]["query"].as_str().unwrap();
    let inside = question
        .strip_prefix("label_values(")
        .and_then(|rest| rest.strip_suffix(')'));
    let (series, label) = inside.and_then(|inside| inside.split_once(", ")).unwrap();
    eventually("the agents are offered", || {
        (prometheus.label_values(series, label) == json!(["alice", "bob"])).then_some(())
    });

    // A start, messages both ways with receipts and answers, and refusals on both sides.
    alice.stop();
    alice.start();
    let (watch, mut bus) = (Watch::new(&house), Sender::new(&house));
    for (from, to) in [(&alice, &bob), (&bob, &alice)] {
        from.send(to, "notification", &json!({"n": 0})).unwrap();
        let (mut forged, _) = watch.find(0, |message| {
            message["method"] == "agent.notification" && sender(message) == from.agent
        });
        // A rate is of what Prometheus saw grow: it has to look between two messages.
        for number in 1..6 {
            from.ping(to);
            from.send(to, "notification", &json!({"n": number}))
                .unwrap();
            forged["params"]["body"] = json!({"forged": number});
            bus.put(&to.subject(), forged.to_string().as_bytes());
            bus.flush();
            std::thread::sleep(Duration::from_millis(700));
        }
    }

    let mut asked = 0;
    for annotation in dashboard["annotations"]["list"].as_array().unwrap() {
        answered(&prometheus, annotation["expr"].as_str().unwrap());
        asked += 1;
    }
    for panel in dashboard["panels"].as_array().unwrap() {
        let mut legends = BTreeSet::new();
        for target in panel["targets"].as_array().unwrap() {
            for series in answered(&prometheus, target["expr"].as_str().unwrap()) {
                let named = legend(target["legendFormat"].as_str().unwrap(), &series["metric"]);
                let is_new = legends.insert(named.clone());
                assert!(is_new, "{}: two series are {named:?}", panel["title"]);
            }
            asked += 1;
        }
        for agent in ["alice", "bob"] {
            let has = legends.iter().any(|legend| legend.starts_with(agent));
            assert!(has, "{}: nothing of {agent}: {legends:?}", panel["title"]);
        }
    }
    println!("{asked} questions of the dashboard, each with an answer");
}

/// The answer to a question as Grafana puts it with all agents chosen: there are series, and each has a number.
fn answered(prometheus: &Prometheus, question: &str) -> Vec<Value> {
    let put = question
        .replace("$agent", "(alice|bob)")
        .replace("$__rate_interval", "1m");
    assert!(!put.contains('$'), "a variable that nobody knows: {put}");
    let is_number = |series: &Value| {
        let value = series["value"][1].as_str().unwrap().parse::<f64>();
        value.unwrap().is_finite()
    };
    eventually(&put, || {
        let series = prometheus.answer(&put);
        (!series.is_empty() && series.iter().all(is_number)).then_some(series)
    })
}

/// The name of a series under a chart: each `{{label}}` has to be a label of it.
fn legend(form: &str, labels: &Value) -> String {
    let (first, rest) = form.split_once("{{").unwrap_or((form, ""));
    let mut named = first.to_owned();
    for piece in rest.split("{{").filter(|piece| !piece.is_empty()) {
        let (label, text) = piece.split_once("}}").unwrap();
        let value = labels[label].as_str();
        named += value.unwrap_or_else(|| panic!("{form}: {labels} has no {label}"));
        named += text;
    }
    named
}
