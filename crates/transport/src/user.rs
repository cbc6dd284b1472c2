//! NATS users that log in with an nkey: who they are on the server. The key signs logins and nothing else.

use nkeys::{KeyPair, KeyPairType};

/// A new user's seed (`SU…`, secret) and public name (`U…`), from 32 random bytes. `None` when the bytes make no
/// key.
#[must_use]
pub fn new_user(random: [u8; 32]) -> Option<(String, String)> {
    let pair = KeyPair::new_from_raw(KeyPairType::User, random).ok()?;
    Some((pair.seed().ok()?, pair.public_key()))
}

/// The public name of the user with this seed. `None` when it is no seed of a user.
#[must_use]
pub fn user_of_seed(seed: &str) -> Option<String> {
    let pair = KeyPair::from_seed(seed.trim()).ok()?;
    matches!(pair.key_pair_type(), KeyPairType::User).then(|| pair.public_key())
}

/// Whether this is a user's public name, its check sum included.
#[must_use]
pub fn is_user(public: &str) -> bool {
    let pair = KeyPair::from_public_key(public).ok();
    pair.is_some_and(|pair| matches!(pair.key_pair_type(), KeyPairType::User))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_users_name_is_known_by_its_form_and_its_seed_leads_to_it() {
        let (seed, public) = new_user([7; 32]).unwrap();
        assert!(seed.starts_with("SU") && is_user(&public) && !is_user(&seed));
        assert_eq!(user_of_seed(&format!("{seed}\n")), Some(public.clone()));
        let account = KeyPair::new_account();
        assert!(
            !is_user(&account.public_key()) && user_of_seed(&account.seed().unwrap()).is_none()
        );
        let mut mistyped = public.into_bytes();
        mistyped[9] = if mistyped[9] == b'A' { b'B' } else { b'A' };
        assert!(!is_user(std::str::from_utf8(&mistyped).unwrap()));
        assert!(!is_user("") && user_of_seed("").is_none());
    }
}
