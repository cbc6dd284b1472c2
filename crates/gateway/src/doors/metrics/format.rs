//! The two forms in which numbers are read: the text format 0.0.4 of Prometheus, and OpenMetrics 1.0.0.
//!
//! `prometheus-client` writes OpenMetrics alone, whose counters are declared without `_total`, which readers of 0.0.4 take for
//! other names (docs/decisions/0020).

use std::fmt::{Display, Write as _};

use hyper::header::{self, HeaderMap};

/// A form of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// `text/plain; version=0.0.4`
    Text,
    /// `application/openmetrics-text; version=1.0.0`
    OpenMetrics,
}

impl Format {
    /// OpenMetrics where the caller takes that at least as gladly as text (RFC 9110, section 12.5.1); text in every other case,
    /// also for a caller who takes neither.
    pub(super) fn asked(headers: &HeaderMap) -> Self {
        let (mut open_metrics, mut text) = (0.0, 0.0);
        let values = headers.get_all(header::ACCEPT).iter();
        let values = values.filter_map(|value| value.to_str().ok());
        for range in values.flat_map(|value| value.split(',')).take(RANGES) {
            let mut parts = range.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default().to_ascii_lowercase();
            let (mut weight, mut version) = (1.0, None);
            for part in parts {
                let (name, value) = part.split_once('=').unwrap_or_default();
                match name.trim().to_ascii_lowercase().as_str() {
                    "q" => weight = parse_weight(value.trim()),
                    "version" => version = Some(value.trim().trim_matches('"')),
                    _ => {}
                }
            }
            match (media.as_str(), version) {
                ("application/openmetrics-text", None | Some("0.0.1" | "1.0.0")) => {
                    open_metrics = weight.max(open_metrics);
                }
                ("text/plain", None | Some("0.0.4")) => text = weight.max(text),
                _ => {}
            }
        }
        match open_metrics > 0.0 && open_metrics >= text {
            true => Self::OpenMetrics,
            false => Self::Text,
        }
    }

    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// A weight of `Accept`; one that is malformed weighs nothing.
fn parse_weight(text: &str) -> f64 {
    let weight = text.parse().ok();
    weight
        .filter(|weight| (0.0..=1.0).contains(weight))
        .unwrap_or_default()
}

/// The kind of number that a family has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FamilyKind {
    Counter,
    Gauge,
    Histogram,
}

/// A page of numbers that is being written.
pub(super) struct MetricsPage {
    format: Format,
    text: String,
}

impl MetricsPage {
    pub(super) const fn of(format: Format) -> Self {
        Self {
            format,
            text: String::new(),
        }
    }

    /// Begins a family. `name` is that of its series, with `_total` for a counter; `help` is one line of plain words.
    pub(super) fn family(&mut self, name: &str, kind: FamilyKind, help: &str) {
        let (declared, kind) = match (kind, self.format) {
            (FamilyKind::Counter, Format::OpenMetrics) => (bare(name), "counter"),
            (FamilyKind::Counter, Format::Text) => (name, "counter"),
            (FamilyKind::Gauge, _) => (name, "gauge"),
            (FamilyKind::Histogram, _) => (name, "histogram"),
        };
        self.line(format_args!("# HELP {declared} {help}"));
        self.line(format_args!("# TYPE {declared} {kind}"));
        if self.format == Format::OpenMetrics
            && let Some(unit) = UNITS.iter().find(|unit| declared.ends_with(*unit))
        {
            let unit = unit.trim_start_matches('_');
            self.line(format_args!("# UNIT {declared} {unit}"));
        }
    }

    /// A series with these labels.
    pub(super) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let mut written = String::new();
        for (label, text) in labels {
            let separator = if written.is_empty() { "" } else { "," };
            // Writing to a String cannot fail.
            let _ = write!(written, "{separator}{label}=\"{}\"", escaped(text));
        }
        match written.is_empty() {
            true => self.line(format_args!("{name} {value}")),
            false => self.line(format_args!("{name}{{{written}}} {value}")),
        }
    }

    /// The whole page.
    pub(super) fn end(mut self) -> String {
        if self.format == Format::OpenMetrics {
            self.line(format_args!("# EOF"));
        }
        self.text
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.text, "{line}");
    }
}

/// The name of a counter without what OpenMetrics adds to it.
fn bare(name: &str) -> &str {
    name.strip_suffix("_total").unwrap_or(name)
}

/// The value of a label as both forms want it.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

/// Microseconds as seconds, with a point always: OpenMetrics wants `1.0` as a bound, and with one spelling for both forms a
/// series is the same in both.
pub(super) fn seconds(micros: u64) -> String {
    let (whole, rest) = (micros / 1_000_000, micros % 1_000_000);
    let written = format!("{whole}.{rest:06}");
    let short = written.trim_end_matches('0');
    match short.ends_with('.') {
        true => format!("{short}0"),
        false => short.to_owned(),
    }
}

/// The units that a name may end in.
const UNITS: [&str; 2] = ["_seconds", "_bytes"];
/// The most ranges of `Accept` that are looked at.
const RANGES: usize = 32;

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn asked(accept: &[&'static str]) -> Format {
        let mut headers = HeaderMap::new();
        for value in accept {
            headers.append(header::ACCEPT, HeaderValue::from_static(value));
        }
        Format::asked(&headers)
    }

    #[test]
    fn the_form_is_the_one_that_the_caller_takes_most_gladly() {
        for accept in [
            "application/openmetrics-text",
            "application/openmetrics-text; version=1.0.0",
            // Prometheus 2.42, and Prometheus 3.
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
            "Application/OpenMetrics-Text;Version=\"1.0.0\"",
            "application/openmetrics-text;q=0.5, text/plain;q=0.5",
        ] {
            assert_eq!(asked(&[accept]), Format::OpenMetrics, "{accept}");
        }
        for accept in [
            "*/*",
            "",
            "text/plain",
            "text/html",
            "application/json",
            "application/openmetrics-text;q=0",
            "application/openmetrics-text;q=none",
            "application/openmetrics-text;version=2.0.0",
            "application/openmetrics-text;q=0.4, text/plain;version=0.0.4;q=0.5",
            "text/plain, application/openmetrics-text;q=0.9",
        ] {
            assert_eq!(asked(&[accept]), Format::Text, "{accept}");
        }
        assert_eq!(asked(&[]), Format::Text);
        let two = ["text/plain;q=0.1", "application/openmetrics-text;q=0.2"];
        assert_eq!(asked(&two), Format::OpenMetrics);
    }

    #[test]
    fn an_accept_of_thousands_of_ranges_costs_no_more_than_a_few() {
        let long = "text/html,".repeat(RANGES) + "application/openmetrics-text";
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_str(&long).unwrap());
        assert_eq!(Format::asked(&headers), Format::Text);
    }

    #[test]
    fn a_label_that_wants_out_of_its_quotes_stays_within() {
        let mut page = MetricsPage::of(Format::Text);
        page.sample("a", &[("b", "x\"} 1\nforged 2\\")], 1);
        assert_eq!(page.end(), "a{b=\"x\\\"} 1\\nforged 2\\\\\"} 1\n");
    }

    #[test]
    fn seconds_are_written_with_a_point_and_no_end_of_noughts() {
        for (micros, text) in [
            (0, "0.0"),
            (10, "0.00001"),
            (2_500, "0.0025"),
            (1_000_000, "1.0"),
            (86_400_000_000, "86400.0"),
        ] {
            assert_eq!(seconds(micros), text);
        }
    }

    #[test]
    fn the_two_forms_differ_in_how_counters_are_declared_and_in_the_end() {
        let written = |format| {
            let mut page = MetricsPage::of(format);
            page.family("a_bytes_total", FamilyKind::Counter, "Bytes.");
            page.sample("a_bytes_total", &[], 3);
            page.end()
        };
        assert_eq!(
            written(Format::Text),
            "# HELP a_bytes_total Bytes.\n# TYPE a_bytes_total counter\na_bytes_total 3\n"
        );
        assert_eq!(
            written(Format::OpenMetrics),
            "# HELP a_bytes Bytes.\n# TYPE a_bytes counter\n# UNIT a_bytes bytes\na_bytes_total 3\n# EOF\n"
        );
    }
}
