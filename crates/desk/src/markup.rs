//! Pieces that several pages have: addresses below the secret path, and words to be compared.

use maud::{Markup, html};
use url::form_urlencoded;

/// An address below the secret path.
pub(crate) fn address(page: &str, pairs: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in pairs {
        query.append_pair(name, value);
    }
    format!("{page}?{}", query.finish())
}

/// The words of a root key, numbered: so they are compared one by one.
pub(crate) fn words_of(fingerprint: &str) -> Markup {
    html! { ol.words { @for word in fingerprint.split_whitespace() { li { (word) } } } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_holds_what_it_names_and_nothing_breaks_out_of_it() {
        let odd = "a&id=b#c\"><script>";
        let address = address("draft", &[("home", odd), ("id", "1")]);
        assert!(!address.contains(['<', '"', '#']), "{address}");
        let (_, query) = address.split_once('?').unwrap();
        let pairs: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes())
            .into_owned()
            .collect();
        assert_eq!(pairs[0], ("home".to_owned(), odd.to_owned()));
        assert_eq!(pairs[1], ("id".to_owned(), "1".to_owned()));
    }
}
