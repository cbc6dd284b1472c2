//! The least of NATS' decentralised login: an operator, an account, a user, and their JWTs.

use data_encoding::BASE64URL_NOPAD;
use nkeys::KeyPair;

pub(super) struct Operator {
    operator: KeyPair,
    account: KeyPair,
}

impl Operator {
    pub(super) fn new() -> Self {
        Self {
            operator: KeyPair::new_operator(),
            account: KeyPair::new_account(),
        }
    }

    pub(super) fn server_config(&self) -> String {
        let account = self.account.public_key();
        let (operator, claims) = (self.operator_jwt(), self.account_jwt());
        format!(
            "operator: {operator}\nresolver: MEMORY\nresolver_preload: {{ {account}: {claims} }}"
        )
    }

    /// What `nsc` writes for a new user of the account.
    pub(super) fn creds(&self) -> String {
        let user = KeyPair::new_user();
        let nats =
            r#"{"pub":{},"sub":{},"subs":-1,"data":-1,"payload":-1,"type":"user","version":2}"#;
        let jwt = jwt(&self.account, &user, nats);
        let seed = user.seed().unwrap();
        format!(
            "-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n\
             -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
        )
    }

    fn operator_jwt(&self) -> String {
        jwt(
            &self.operator,
            &self.operator,
            r#"{"type":"operator","version":2}"#,
        )
    }

    fn account_jwt(&self) -> String {
        let nats = r#"{"limits":{"subs":-1,"data":-1,"payload":-1,"imports":-1,"exports":-1,
            "wildcards":true,"conn":-1,"leaf":-1},"type":"account","version":2}"#;
        jwt(&self.operator, &self.account, nats)
    }
}

fn jwt(issuer: &KeyPair, subject: &KeyPair, nats: &str) -> String {
    let (iss, sub) = (issuer.public_key(), subject.public_key());
    let claims = format!(
        r#"{{"jti":"test","iat":1700000000,"iss":"{iss}","name":"test","sub":"{sub}","nats":{nats}}}"#
    );
    let encode = |text: &str| BASE64URL_NOPAD.encode(text.as_bytes());
    let signed = format!(
        "{}.{}",
        encode(r#"{"typ":"JWT","alg":"ed25519-nkey"}"#),
        encode(&claims)
    );
    let signature = issuer.sign(signed.as_bytes()).unwrap();
    format!("{signed}.{}", BASE64URL_NOPAD.encode(&signature))
}
