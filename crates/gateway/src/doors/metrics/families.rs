//! The table of series: which numbers of the daemon are shown, under which names.
//!
//! Names follow the conventions of Prometheus: a prefix, the unit in full and at the end, `_total` for counts. Each family has
//! its row in docs/metrics.md. A time is told as the moment it stands for, so that readers see how long it is until then.

use signet_api::{Metrics, TimeHistogram};

use super::format::{FamilyKind, Format, MetricsPage, seconds};

/// The page of the numbers; `None` where the daemon does not answer.
pub(super) fn page(metrics: Option<&Metrics>, format: Format) -> String {
    let mut page = MetricsPage::of(format);
    let name = "signet_daemon_up";
    page.family(
        name,
        FamilyKind::Gauge,
        "Whether the daemon answered just now.",
    );
    page.sample(name, &[], u8::from(metrics.is_some()));
    if let Some(metrics) = metrics {
        counts(&mut page, metrics);
        steps(&mut page, metrics);
        standing(&mut page, metrics);
    }
    page.end()
}

fn counts(page: &mut MetricsPage, metrics: &Metrics) {
    let name = "signet_build_info";
    let help = "Always 1; the label is the release of the daemon.";
    page.family(name, FamilyKind::Gauge, help);
    page.sample(name, &[("version", &metrics.version)], 1);

    let name = "signet_messages_total";
    let help = "Messages by direction and by what was decided about them.";
    page.family(name, FamilyKind::Counter, help);
    let messages = metrics.messages;
    for (direction, verdict, count) in [
        ("in", "accepted", messages.accepted),
        ("in", "refused", messages.refused),
        ("in", "counted", messages.counted),
        ("out", "sent", messages.sent),
    ] {
        let labels = [("direction", direction), ("verdict", verdict)];
        page.sample(name, &labels, count);
    }

    let name = "signet_rejections_total";
    let help = "Messages that were refused, by the reason of the protocol's table.";
    page.family(name, FamilyKind::Counter, help);
    for row in &metrics.rejections {
        page.sample(name, &[("reason", &row.reason)], row.count);
    }

    let name = "signet_carrier_up";
    let help = "Whether a carrier of the configuration is up.";
    page.family(name, FamilyKind::Gauge, help);
    for row in &metrics.carriers {
        page.sample(name, &[("carrier", &row.carrier)], u8::from(row.up));
    }
    for (name, count, help) in [
        (
            "signet_log_lines_total",
            metrics.log_lines,
            "The number of the newest durable line of the log.",
        ),
        (
            "signet_log_written_bytes_total",
            metrics.log_bytes,
            "Bytes that were written to the log since the start.",
        ),
        (
            "signet_clock_warnings_total",
            metrics.clock_warnings,
            "How often two clocks were found to be more than a minute apart.",
        ),
    ] {
        page.family(name, FamilyKind::Counter, help);
        page.sample(name, &[], count);
    }
}

fn steps(page: &mut MetricsPage, metrics: &Metrics) {
    let times = &metrics.times;
    for (name, times, help) in [
        (
            "signet_verify_seconds",
            &times.verify,
            "How long it took to read and verify a message that came.",
        ),
        (
            "signet_judge_seconds",
            &times.judge,
            "How long it took to rule on a message that came.",
        ),
        (
            "signet_append_seconds",
            &times.append,
            "How long it took until a group of lines was durable in the log.",
        ),
        (
            "signet_receipt_seconds",
            &times.receipt,
            "From when a message was made here until its receipt came.",
        ),
        (
            "signet_answer_seconds",
            &times.answer,
            "From when a request was made here until its answer came.",
        ),
    ] {
        page.family(name, FamilyKind::Histogram, help);
        histogram(page, name, times);
    }
}

/// Both forms want the counts of the ranges added up, and a last range without an end.
fn histogram(page: &mut MetricsPage, name: &str, times: &TimeHistogram) {
    let bucket = format!("{name}_bucket");
    let ends = times.bounds_us.iter().map(|bound| seconds(*bound));
    let ends = ends.chain(["+Inf".to_owned()]);
    let mut sum = 0_u64;
    for (end, count) in ends.zip(&times.counts) {
        sum = sum.saturating_add(*count);
        page.sample(&bucket, &[("le", &end)], sum);
    }
    page.sample(&format!("{name}_sum"), &[], seconds(times.sum_us));
    page.sample(&format!("{name}_count"), &[], sum);
}

fn standing(page: &mut MetricsPage, metrics: &Metrics) {
    for (name, value, help) in GAUGES {
        page.family(name, FamilyKind::Gauge, help);
        page.sample(name, &[], value(metrics));
    }
}

/// A number that stands now: its series, how it is written, and what it says.
type GaugeRow = (&'static str, fn(&Metrics) -> String, &'static str);

const GAUGES: [GaugeRow; 14] = [
    (
        "signet_daemon_start_timestamp_seconds",
        |metrics| metrics.started.to_string(),
        "When the daemon began, in seconds since 1970.",
    ),
    (
        "signet_outbox_messages",
        |metrics| metrics.standing.outbox.to_string(),
        "Messages sent from here that no receipt has settled and that wait for no person.",
    ),
    (
        "signet_outbox_oldest_age_seconds",
        |metrics| metrics.standing.outbox_oldest.to_string(),
        "How long the oldest of these has stood; 0 where there is none.",
    ),
    (
        "signet_inbox_messages",
        |metrics| metrics.standing.inbox.to_string(),
        "Messages in the inbox.",
    ),
    (
        "signet_quarantine_messages",
        |metrics| metrics.standing.quarantine.to_string(),
        "Messages whose handling failed five times.",
    ),
    (
        "signet_drafts_waiting",
        |metrics| metrics.standing.drafts.to_string(),
        "Messages that wait for the person's approval.",
    ),
    (
        "signet_introductions_waiting",
        |metrics| metrics.standing.introductions.to_string(),
        "Strangers that wait for an introduction.",
    ),
    (
        "signet_alarms_ringing",
        |metrics| metrics.standing.alarms.to_string(),
        "Alarms that ring.",
    ),
    (
        "signet_disk_full",
        |metrics| truth(metrics.standing.disk_full),
        "Whether the disk is full, so that nothing is taken in or sent.",
    ),
    (
        "signet_paused",
        |metrics| truth(metrics.standing.paused),
        "Whether the agents of this person pause.",
    ),
    (
        "signet_certificate_revoked",
        |metrics| truth(metrics.standing.revoked),
        "Whether the person took the agent's certificate back.",
    ),
    (
        "signet_certificate_end_timestamp_seconds",
        |metrics| metrics.standing.certificate_ends.to_string(),
        "When the agent's certificate ends, in seconds since 1970.",
    ),
    (
        "signet_clock_outside_certificate",
        |metrics| truth(metrics.standing.clock_outside),
        "Whether the clock stands outside the dates of the certificate.",
    ),
    (
        "signet_clock_offset_seconds",
        |metrics| signed_seconds(metrics.standing.clock_offset_ms),
        "A peer's clock minus ours where they were found apart within the last hour; else 0.",
    ),
];

fn truth(is_so: bool) -> String {
    u8::from(is_so).to_string()
}

fn signed_seconds(millis: i64) -> String {
    let sign = if millis < 0 { "-" } else { "" };
    format!(
        "{sign}{}",
        seconds(millis.unsigned_abs().saturating_mul(1_000))
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use signet_api::{CarrierState, MessageCounts, ReasonCount, StandingNumbers, StepTimes};

    use super::*;

    fn metrics() -> Metrics {
        let times = TimeHistogram {
            bounds_us: vec![10, 1_000_000],
            counts: vec![3, 2, 1],
            sum_us: 5_000_004,
        };
        Metrics {
            version: "1.2.3".to_owned(),
            started: 1_764_000_000,
            messages: MessageCounts::default(),
            rejections: vec![ReasonCount {
                reason: "duplicate".to_owned(),
                count: 7,
            }],
            times: StepTimes {
                verify: times.clone(),
                judge: times.clone(),
                append: times.clone(),
                receipt: times.clone(),
                answer: times,
            },
            clock_warnings: 0,
            log_lines: 9,
            log_bytes: 900,
            carriers: vec![CarrierState {
                carrier: "nats".to_owned(),
                up: true,
            }],
            standing: StandingNumbers {
                clock_offset_ms: -90_500,
                ..StandingNumbers::default()
            },
        }
    }

    #[test]
    fn a_histogram_adds_its_ranges_up() {
        let page = page(Some(&metrics()), Format::Text);
        for line in [
            "signet_verify_seconds_bucket{le=\"0.00001\"} 3",
            "signet_verify_seconds_bucket{le=\"1.0\"} 5",
            "signet_verify_seconds_bucket{le=\"+Inf\"} 6",
            "signet_verify_seconds_sum 5.000004",
            "signet_verify_seconds_count 6",
            "signet_clock_offset_seconds -90.5",
        ] {
            assert!(page.lines().any(|known| known == line), "{line}\n{page}");
        }
    }

    #[test]
    fn a_daemon_that_is_away_is_one_number_and_no_other_is_made_up() {
        let page = page(None, Format::Text);
        let series: Vec<&str> = page.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(series, ["signet_daemon_up 0"]);
    }

    /// The names of series in a text.
    fn named(text: &str) -> BTreeSet<&str> {
        let is_of_name = |symbol: char| symbol.is_ascii_lowercase() || symbol == '_';
        let words = text.split(|symbol| !is_of_name(symbol));
        words.filter(|word| word.starts_with("signet_")).collect()
    }

    #[test]
    fn alerts_and_dashboard_ask_for_series_that_there_are() {
        let page = page(Some(&metrics()), Format::Text);
        let shown = named(&page);
        for text in [
            include_str!("../../../../../examples/metrics/alerts.yml"),
            include_str!("../../../../../examples/metrics/alerts-test.yml"),
            include_str!("../../../../../examples/metrics/dashboard.json"),
        ] {
            let asked = named(text);
            assert!(asked.len() > 10, "{asked:?}");
            let unknown: Vec<_> = asked.difference(&shown).collect();
            assert!(unknown.is_empty(), "{unknown:?}");
        }
    }

    #[test]
    fn every_alert_has_its_section_and_says_where_it_is() {
        let document = include_str!("../../../../../docs/metrics.md");
        let rules = include_str!("../../../../../examples/metrics/alerts.yml");
        let alerts: Vec<&str> = rules.split("- alert: ").skip(1).collect();
        assert!(alerts.len() > 10);
        for alert in alerts {
            let name = alert.lines().next().unwrap();
            assert!(document.contains(&format!("\n### {name}\n")), "{name}");
            let section = format!("runbook: \"docs/metrics.md#{}: ", name.to_lowercase());
            assert!(alert.contains(&section), "{name}");
            assert!(
                alert.contains("summary: \"") && alert.contains("severity: "),
                "{name}"
            );
        }
    }

    #[test]
    fn every_family_has_its_row_on_the_page_about_numbers_and_no_row_is_of_another() {
        let document = include_str!("../../../../../docs/metrics.md");
        let rows = document
            .lines()
            .filter_map(|row| row.strip_prefix("| `signet_"));
        let documented: Vec<String> = rows
            .map(|row| format!("signet_{}", row.split(['`', '{']).next().unwrap()))
            .collect();
        let page = page(Some(&metrics()), Format::Text);
        let families = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        let families: Vec<String> = families
            .map(|line| line.split(' ').next().unwrap().to_owned())
            .collect();
        for family in &families {
            assert!(documented.contains(family), "{family} has no row");
        }
        for row in &documented {
            assert!(families.contains(row), "{row} is no family");
        }
    }
}
