//! The least of NATS' decentralised login: an operator, an account, a user, and their JWTs.

use data_encoding::BASE64URL_NOPAD;
use nkeys::KeyPair;

/// Who signs for accounts; there are one for agents and one for the system, which JetStream needs.
pub struct Operator {
    operator: KeyPair,
    account: KeyPair,
    system: KeyPair,
}

/// May do everything.
const EVERYTHING: &str = "{}";

impl Default for Operator {
    fn default() -> Self {
        Self {
            operator: KeyPair::new_operator(),
            account: KeyPair::new_account(),
            system: KeyPair::new_account(),
        }
    }
}

impl Operator {
    /// The lines of a server that believes this operator.
    pub fn server_config(&self) -> String {
        let [account, system] = [&self.account, &self.system]
            .map(|one| format!("{}: {}", one.public_key(), self.account_jwt(one)));
        let (operator, watches) = (self.operator_jwt(), self.system.public_key());
        format!(
            "operator: {operator}\nsystem_account: {watches}\nresolver: MEMORY\n\
             resolver_preload: {{\n{account}\n{system}\n}}\n"
        )
    }

    /// What `nsc` writes for a new user of the account who may do everything.
    pub fn creds(&self) -> String {
        self.creds_within(EVERYTHING, EVERYTHING)
    }

    /// What it writes for one with these permissions, as `{"allow":["…"]}`.
    pub fn creds_within(&self, publish: &str, subscribe: &str) -> String {
        let user = KeyPair::new_user();
        let nats = format!(
            r#"{{"pub":{publish},"sub":{subscribe},"subs":-1,"data":-1,"payload":-1,"type":"user","version":2}}"#
        );
        let jwt = jwt(&self.account, &user, &nats);
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

    fn account_jwt(&self, account: &KeyPair) -> String {
        let store = match account.public_key() == self.account.public_key() {
            true => r#","mem_storage":-1,"disk_storage":-1,"streams":-1,"consumer":-1"#,
            false => "",
        };
        let nats = format!(
            r#"{{"limits":{{"subs":-1,"data":-1,"payload":-1,"imports":-1,"exports":-1,
            "wildcards":true,"conn":-1,"leaf":-1{store}}},"type":"account","version":2}}"#
        );
        jwt(&self.operator, account, &nats)
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
