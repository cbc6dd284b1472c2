//! Lists that the daemon gives page by page, of which entries leave while they are listed.

use crate::cli::CliError;

/// A page: how many entries there are in all, and those behind the first so many.
pub(super) type ListPage<T> = (usize, Vec<T>);

/// Every entry of a list, each once. `name` is what no two entries have in common.
pub(super) fn every<T, N: PartialEq>(
    name: impl Fn(&T) -> N,
    mut page: impl FnMut(usize) -> Result<ListPage<T>, CliError>,
) -> Result<Vec<T>, CliError> {
    let mut all: Vec<T> = Vec::new();
    let mut begun_anew = 0;
    loop {
        let (waiting, more) = page(all.len())?;
        let is_last = more.is_empty() || all.len() + more.len() >= waiting;
        // If an entry has left since the page before, all entries behind it have moved up, and
        // `page(all.len())` skips one that was never shown. The last entry of `all` then stands at another
        // place as well: so look, and begin anew.
        if let Some(last) = all.len().checked_sub(1).filter(|_| begun_anew < PATIENCE) {
            let (_, there) = page(last)?;
            if there.first().map(&name) != all.last().map(&name) {
                all.clear();
                begun_anew += 1;
                continue;
            }
        }
        all.extend(more);
        // End at an empty page, too, even if `waiting` promises more: the next request would be the same one again,
        // and this loop would never end.
        if is_last {
            return Ok(all);
        }
    }
}

/// How often a list is begun anew. Of one that changes faster than it is read, nobody could say what stands in it.
const PATIENCE: u32 = 20;

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// The numbers that are listed of seven, two a page, while the first leaves before each of those requests.
    fn listed_while(leave: &[usize]) -> String {
        let (mut there, mut asked) = ((0..7).collect::<Vec<u32>>(), 0);
        let all = every(
            |number| *number,
            |skip| {
                asked += 1;
                if leave.contains(&asked) {
                    there.remove(0);
                }
                Ok((
                    there.len(),
                    there.iter().skip(skip).take(2).copied().collect(),
                ))
            },
        );
        all.unwrap().iter().map(u32::to_string).collect()
    }

    #[test]
    fn entries_that_leave_while_the_others_are_listed_hide_none_of_them() {
        assert_eq!(listed_while(&[]), "0123456");
        for asked in 1..8 {
            let listed = listed_while(&[asked]);
            assert!(listed.ends_with("123456"), "{asked}: {listed}");
        }
        let listed = listed_while(&[2, 3, 5, 8]);
        assert!(listed.ends_with("456"), "{listed}");
    }

    #[test]
    fn a_list_that_promises_more_than_it_gives_ends() {
        let all = every(|it| *it, |skip| Ok((9, (0..3).skip(skip).collect())));
        assert_eq!(all.unwrap().len(), 3);
    }

    #[test]
    fn a_list_that_changes_with_every_request_ends() {
        let first = RefCell::new(0);
        let all = every(
            |it| *it,
            |skip| {
                *first.borrow_mut() += 1;
                let first = *first.borrow();
                Ok((7, (first..first + 7).skip(skip).take(2).collect()))
            },
        );
        assert!(all.unwrap().len() <= 8);
    }
}
