//! Invitations: the published ones against the schema that is published beside them.

use std::path::Path;

use data_encoding::BASE64URL_NOPAD;
use serde_json::Value;
use signet_json::{Limits, parse};
use signet_proto::statement::Invitation;

use crate::schemas::{compile, source};

#[test]
fn what_the_schema_of_invitations_refuses_no_reader_accepts_and_what_is_good_fits_it() {
    let schema = compile(&source("invitation"));
    let folder = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../vectors/invitations"
    ));
    let (mut good, mut outside) = (0, 0);
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let vector: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let (line, now) = (&vector["line"], &vector["now"]);
        let (line, now) = (line.as_str().unwrap(), now.as_str().unwrap());
        let accepted = Invitation::parse_line(line, now.parse().unwrap()).is_ok();
        assert_eq!(accepted, vector["expect"] == "good", "{path:?}");
        let whole = line.trim().strip_prefix("signet:1:");
        let whole = whole.and_then(|rest| BASE64URL_NOPAD.decode(rest.as_bytes()).ok());
        let whole = whole.and_then(|bytes| parse(&bytes, Limits::MESSAGE).ok());
        let fits = whole.is_some_and(|value| schema.is_valid(&value));
        assert!(
            fits || !accepted,
            "{path:?} is accepted, and the schema refuses it"
        );
        good += usize::from(accepted);
        outside += usize::from(!fits);
    }
    assert!(
        good >= 3 && outside >= 3,
        "{good} good, {outside} outside the schema"
    );
}
