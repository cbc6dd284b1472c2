//! The page: the same bytes for everybody, but for the data in it.

use data_encoding::{BASE64, HEXLOWER};
use sha2::{Digest as _, Sha256};

/// A page without its data.
pub(super) struct ProofPage {
    html: &'static str,
}

/// The data of a page.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PageData {
    /// One for each log.
    pub(super) bundles: Vec<Vec<u8>>,
    /// The texts that its maker opened of what is sealed.
    pub(super) opened: Option<Vec<u8>>,
}

impl ProofPage {
    /// The page of this signet. `make generated` makes it from clients/typescript/src/proof/page.
    pub(super) const TEMPLATE: Self = Self {
        html: include_str!("page.html"),
    };

    /// The page with these bundles, and with what was opened.
    pub(super) fn with(&self, bundles: &[&[u8]], opened: Option<&[u8]>) -> String {
        let (before, after) = self.halves();
        let mut page = String::from(before);
        let parts = bundles.iter().map(|bundle| (BUNDLE, *bundle));
        for (begin, bytes) in parts.chain(opened.map(|opened| (OPENED, opened))) {
            page.push_str(begin);
            page.push_str(&BASE64.encode(bytes));
            page.push_str(END);
        }
        page.push_str(after);
        page
    }

    /// The data of a page that differs from this one in its data alone; none where it differs in anything else.
    pub(super) fn data_of(&self, page: &str) -> Option<PageData> {
        let (before, after) = self.halves();
        let mut rest = page.strip_prefix(before)?.strip_suffix(after)?;
        let mut data = PageData::default();
        while !rest.is_empty() {
            let (is_bundle, inside) = match rest.strip_prefix(BUNDLE) {
                Some(inside) => (true, inside),
                None => (false, rest.strip_prefix(OPENED)?),
            };
            let (text, behind) = inside.split_once(END)?;
            let bytes = BASE64.decode(text.as_bytes()).ok()?;
            match is_bundle {
                true if data.opened.is_none() => data.bundles.push(bytes),
                false if data.opened.is_none() => data.opened = Some(bytes),
                _ => return None,
            }
            rest = behind;
        }
        Some(data)
    }

    /// SHA-256 of the page's script, hex.
    pub(super) fn script(&self) -> String {
        script_of(self.html).unwrap_or_default()
    }

    fn halves(&self) -> (&str, &str) {
        self.html.split_once(MARK).unwrap_or((self.html, ""))
    }
}

/// The bundles in any page that has some, as far as they can be read; nothing is said of the rest of it.
pub(super) fn bundles_in(page: &str) -> Vec<Vec<u8>> {
    let parts = page.split(BUNDLE).skip(1);
    let texts = parts.filter_map(|part| part.split_once(END).map(|(text, _)| text));
    texts
        .filter_map(|text| BASE64.decode(text.as_bytes()).ok())
        .collect()
}

/// SHA-256 of the last script of a page, hex.
pub(super) fn script_of(page: &str) -> Option<String> {
    let (_, script) = page.rsplit_once("<script>")?;
    let (script, _) = script.split_once("</script>")?;
    Some(HEXLOWER.encode(&Sha256::digest(script)))
}

const MARK: &str = "<!-- data -->\n";
const BUNDLE: &str = "<script type=\"text/plain\" class=\"bundle\">";
const OPENED: &str = "<script type=\"text/plain\" class=\"opened\">";
const END: &str = "</script>\n";
