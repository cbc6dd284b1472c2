//! A Prometheus of the distribution, by its own configuration file but for times, places and ports.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use signet_testkit::{eventually, free_port};

use crate::metrics::ask;

/// A file of `examples/metrics`.
pub(super) fn example(name: &str) -> PathBuf {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/metrics");
    Path::new(examples).join(name)
}

/// The programs that scripts/try-metrics found.
pub(super) fn program(name: &str) -> Command {
    let folder =
        std::env::var_os("PROMETHEUS").expect("scripts/try-metrics names the folder of Prometheus");
    Command::new(Path::new(&folder).join(name))
}

/// A command that has to end well, with what it said.
pub(super) fn done(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    said.into_owned()
}

/// A Prometheus that scrapes every second.
pub(super) struct Prometheus {
    child: Child,
    address: SocketAddr,
    said: PathBuf,
}

impl Prometheus {
    /// One with the files of `examples/metrics`: of each alert the fault is looked for and not how long it lasts, which
    /// `promtool test rules` holds.
    pub(super) fn start(dir: &Path, token: &Path, targets: &[(&str, SocketAddr)]) -> Self {
        let mut text = std::fs::read_to_string(example("prometheus.yml")).unwrap();
        let (at, of) = (text.find("      - targets:").unwrap(), text.len());
        text.replace_range(at..of, "");
        for (agent, address) in targets {
            text += &format!(
                "      - targets: [\"{address}\"]\n        labels:\n          agent: {agent}\n"
            );
        }
        for (from, to) in [
            ("scrape_interval: 15s", "scrape_interval: 1s"),
            ("evaluation_interval: 15s", "evaluation_interval: 1s"),
            ("/etc/prometheus/signet-token", token.to_str().unwrap()),
        ] {
            assert!(text.contains(from), "{from}: {text}");
            text = text.replace(from, to);
        }
        let config = dir.join("prometheus.yml");
        std::fs::write(&config, text).unwrap();
        std::fs::write(dir.join("alerts.yml"), hurried()).unwrap();
        done(program("promtool").args(["check", "config"]).arg(&config));
        let (port, said) = (free_port(), dir.join("prometheus-said"));
        let log = || {
            Stdio::from(
                std::fs::File::options()
                    .create(true)
                    .append(true)
                    .open(&said)
                    .unwrap(),
            )
        };
        let child = program("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                dir.join("tsdb").display()
            ))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .current_dir(dir)
            .stdin(Stdio::null())
            .stdout(log())
            .stderr(log())
            .spawn();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let started = Self {
            child: child.unwrap(),
            address,
            said,
        };
        eventually("Prometheus listens", || {
            std::net::TcpStream::connect(address).ok()
        });
        // It listens before it has read its own files.
        let ready = ["GET /-/ready HTTP/1.1", "Host: localhost"];
        eventually("Prometheus is ready", || {
            (ask(address, &ready).status == 200).then_some(())
        });
        started
    }

    fn get(&self, path: &str) -> Value {
        let line = format!("GET {path} HTTP/1.1");
        ask(self.address, &[&line, "Host: localhost"]).json()["data"].clone()
    }

    /// The alerts that fire, each with the agent that it is about.
    pub(super) fn firing(&self) -> Vec<(String, String)> {
        let alerts = self.get("/api/v1/alerts")["alerts"].clone();
        let alerts = alerts.as_array().unwrap().iter();
        let firing = alerts.filter(|alert| alert["state"] == "firing");
        let label = |alert: &Value, name: &str| {
            alert["labels"][name]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        firing
            .map(|alert| (label(alert, "alertname"), label(alert, "agent")))
            .collect()
    }

    /// The newest value of a series of an agent.
    pub(super) fn value(&self, query: &str) -> Option<f64> {
        let found = self.answer(query);
        found.first()?["value"][1].as_str()?.parse().ok()
    }

    /// The series that a question gives now, each with its labels and its newest value.
    pub(super) fn answer(&self, query: &str) -> Vec<Value> {
        let found = self.get(&format!("/api/v1/query?query={}", encoded(query)));
        let series = found["result"].as_array();
        series
            .unwrap_or_else(|| panic!("Prometheus does not take {query}"))
            .clone()
    }

    /// The values that a label has on a series.
    pub(super) fn label_values(&self, series: &str, label: &str) -> Value {
        self.get(&format!(
            "/api/v1/label/{label}/values?match%5b%5d={}",
            encoded(series)
        ))
    }
}

fn encoded(query: &str) -> String {
    query.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!(
                "{}",
                std::fs::read_to_string(&self.said).unwrap_or_default()
            );
        }
    }
}

/// The alerts with the waits taken out: a fault is brought about in seconds.
fn hurried() -> String {
    let mut text = std::fs::read_to_string(example("alerts.yml")).unwrap();
    // A rate needs two scrapes, and what happened before the fault is to be forgotten soon.
    for (from, to) in [
        (
            "signet_outbox_oldest_age_seconds > 900",
            "signet_outbox_oldest_age_seconds > 2",
        ),
        ("[10m]", "[15s]"),
        ("[1h]", "[15s]"),
    ] {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    let lines = text
        .lines()
        .map(|line| match line.trim_start().starts_with("for: ") {
            true => "        for: 0s".to_owned(),
            false => line.to_owned(),
        });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}
