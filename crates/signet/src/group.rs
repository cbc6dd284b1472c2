//! Groups of the system, by name.

/// The number of a group, as `/etc/group` has it (group(5)); or the number itself.
pub(crate) fn number_of(name: &str) -> Option<u32> {
    let known = std::fs::read_to_string("/etc/group").unwrap_or_default();
    name.parse().ok().or_else(|| number_in(&known, name))
}

/// The same in a text; /etc/passwd (passwd(5)) has its numbers in the same place.
pub(crate) fn number_in(groups: &str, name: &str) -> Option<u32> {
    groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        let is_named = fields.next() == Some(name);
        is_named.then(|| fields.nth(1)?.parse().ok()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_found_by_its_whole_name_and_no_part_of_one() {
        let groups = "root:x:0:\nsignet-agents:x:1002:alice\nsignet:x:1001:alice,bob\nbroken\n";
        assert_eq!(number_in(groups, "signet"), Some(1001));
        assert_eq!(number_in(groups, "signet-agents"), Some(1002));
        assert_eq!(number_in(groups, "sign"), None);
        assert_eq!(number_in(groups, "broken"), None);
        assert_eq!(number_of("4711"), Some(4711));
    }
}
