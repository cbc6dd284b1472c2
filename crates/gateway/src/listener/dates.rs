//! When the listener's own certificate ends: its owner is told while there is time to renew it. Callers see that it ended;
//! the gateway would not, for nobody checks a certificate of one's own.

use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, Error, RootCertStore};

/// What the owner of this certificate should know of its dates; `None` while there is time.
pub(super) fn warning(leaf: &CertificateDer<'_>, now: UnixTime) -> Option<String> {
    if let Outside::Before(from) = outside(leaf, now) {
        let from = day(from);
        return Some(format!(
            "the listener's certificate counts from {from} on: until then callers that check it turn away"
        ));
    }
    if let Outside::After(end) = outside(leaf, now) {
        let end = day(end);
        return Some(format!(
            "the listener's certificate ended on {end}: callers that check it turn away; {RENEW}"
        ));
    }
    let soon = UnixTime::since_unix_epoch(Duration::from_secs(now.as_secs()) + notice(leaf));
    match outside(leaf, soon) {
        Outside::After(end) => {
            let end = day(end);
            Some(format!("the listener's certificate ends on {end}; {RENEW}"))
        }
        Outside::Before(_) | Outside::No => None,
    }
}

/// How long before its end the owner is told: of a certificate that is made for some days, a fifth of its life.
fn notice(leaf: &CertificateDer<'_>) -> Duration {
    let ever = |seconds| {
        outside(
            leaf,
            UnixTime::since_unix_epoch(Duration::from_secs(seconds)),
        )
    };
    // The verifier tells a certificate's dates only when it refuses the certificate as too early or too late. So verify it as
    // of 1970, and as of the last second that a certificate can name, to be told both dates.
    let life = match (ever(0), ever(END_OF_TIME)) {
        (Outside::Before(from), Outside::After(end)) => {
            end.as_secs().saturating_sub(from.as_secs())
        }
        _ => return NOTICE,
    };
    NOTICE.min(Duration::from_secs(life / 5))
}

/// Whether a time falls outside the dates of a certificate.
enum Outside {
    Before(UnixTime),
    After(UnixTime),
    No,
}

/// What rustls says of the certificate's dates at that time: they are the first thing that it looks at, before names and
/// issuers, which may be unknown here.
fn outside(leaf: &CertificateDer<'_>, at: UnixTime) -> Outside {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates([leaf.clone().into_owned()]);
    let provider = Arc::new(default_provider());
    let Ok(verifier) =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build()
    else {
        return Outside::No;
    };
    let Ok(name) = ServerName::try_from("localhost") else {
        return Outside::No;
    };
    match verifier.verify_server_cert(leaf, &[], &name, &[], at) {
        Err(Error::InvalidCertificate(CertificateError::NotValidYetContext {
            not_before, ..
        })) => Outside::Before(not_before),
        Err(Error::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. })) => {
            Outside::After(not_after)
        }
        _ => Outside::No,
    }
}

fn day(time: UnixTime) -> String {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    DateTime::from_timestamp(seconds, 0).map_or_else(
        || "an unknown day".to_owned(),
        |time| time.format("%Y-%m-%d").to_string(),
    )
}

const RENEW: &str =
    "renew the files under [tls] of gateway.toml, which are read anew without a restart";
const NOTICE: Duration = Duration::from_secs(14 * 24 * 3600);
/// 9999-12-31, the last day that a certificate can name.
const END_OF_TIME: u64 = 253_402_300_799;

#[cfg(test)]
mod tests {
    use rcgen::{
        BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd,
    };

    use super::*;

    /// One of an authority that this machine does not know, from the first of one month of 2030 to a day of another.
    fn certificate(from: (u8, u8), to: (u8, u8)) -> CertificateDer<'static> {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
        let mut params = CertificateParams::new(vec!["home.example".to_owned()]).unwrap();
        params.not_before = date_time_ymd(2030, from.0, from.1);
        params.not_after = date_time_ymd(2030, to.0, to.1);
        let signed = params.signed_by(&KeyPair::generate().unwrap(), &issuer);
        signed.unwrap().der().clone()
    }

    fn on(month: u8, of_month: u8) -> UnixTime {
        let seconds = date_time_ymd(2030, month, of_month).unix_timestamp();
        UnixTime::since_unix_epoch(Duration::from_secs(seconds.try_into().unwrap()))
    }

    #[test]
    fn the_owner_hears_of_an_end_before_callers_do() {
        let leaf = certificate((3, 1), (5, 30));
        let says = |at, word: &str| {
            let said = warning(&leaf, at);
            assert!(
                said.as_ref().is_some_and(|said| said.contains(word)),
                "{said:?}"
            );
        };
        says(on(2, 27), "counts from 2030-03-01 on");
        assert_eq!(warning(&leaf, on(3, 2)), None);
        assert_eq!(warning(&leaf, on(5, 15)), None);
        says(on(5, 17), "ends on 2030-05-30; renew");
        says(on(5, 31), "ended on 2030-05-30: callers");
    }

    #[test]
    fn a_certificate_of_some_days_is_not_warned_of_all_its_life() {
        let leaf = certificate((3, 1), (3, 11));
        assert_eq!(warning(&leaf, on(3, 8)), None);
        assert!(warning(&leaf, on(3, 10)).is_some());
    }
}
