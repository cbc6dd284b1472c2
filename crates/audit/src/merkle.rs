//! The Merkle tree of a month's lines (RFC 6962, 2.1): its root, kept as lines come, and proofs that a
//! line is in it.

use sha2::{Digest as _, Sha256};
use signet_proto::ids::Digest;

/// The hash of one line, given without its newline.
pub(crate) fn leaf(line: &[u8]) -> Digest {
    Digest::of(&[&[LEAF], line])
}

/// The SHA-256 of a line, and its [`leaf`].
///
/// Each block of a hash waits for the block before it, and an instruction of it for the one before. Of two hashes, block by
/// block in turn, the processor works on one while the other waits.
pub(crate) fn hash_and_leaf(line: &[u8]) -> (Digest, Digest) {
    let (mut hash, mut leaf) = (Sha256::new(), Sha256::new());
    // SHA-256 works on blocks of equal length. The leaf's hash begins with one extra byte, so give its first block one
    // byte less of the line: each update in the loop then fills a whole block of both hashes.
    let (first, mut ahead) = line.split_at(line.len().min(BLOCK - 1));
    leaf.update([LEAF]);
    leaf.update(first);
    let mut rest = line;
    while let Some((block, behind)) = ahead.split_first_chunk::<BLOCK>()
        && let Some((own, left)) = rest.split_first_chunk::<BLOCK>()
    {
        hash.update(own);
        leaf.update(block);
        (rest, ahead) = (left, behind);
    }
    hash.update(rest);
    leaf.update(ahead);
    (
        Digest(hash.finalize().into()),
        Digest(leaf.finalize().into()),
    )
}

/// A tree that grows at its end and keeps no more than a hash for each bit of its size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tree {
    size: u64,
    /// The roots of the full subtrees side by side, the largest first.
    peaks: Vec<Digest>,
}

impl Tree {
    /// The tree of `size` leaves with these peaks; `None` where so many leaves have not so many peaks.
    pub(crate) fn of(size: u64, peaks: Vec<Digest>) -> Option<Self> {
        let fits = u64::from(size.count_ones()) == peaks.len() as u64;
        fits.then_some(Self { size, peaks })
    }

    /// The roots of its full subtrees side by side, the largest first.
    pub(crate) fn peaks(&self) -> &[Digest] {
        &self.peaks
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn push(&mut self, leaf: Digest) {
        let mut grown = leaf;
        // This works like the carry of a binary counter: each low bit of `size` that is set stands for a full subtree
        // as large as `grown`.
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.peaks.pop() {
                grown = node(&left, &grown);
            }
        }
        self.peaks.push(grown);
        self.size += 1;
    }

    /// The root of what was pushed; of nothing, the hash of nothing.
    pub(crate) fn root(&self) -> Digest {
        let peaks = self.peaks.iter().rev().copied();
        peaks
            .reduce(|right, left| node(&left, &right))
            .unwrap_or_else(|| Digest::of(&[]))
    }
}

/// All hashes of a finished tree, for proofs: 64 bytes a line.
pub(crate) struct Levels(Vec<Vec<Digest>>);

impl Levels {
    /// A node without a neighbour rises as it is: that gives the very tree of RFC 6962.
    pub(crate) fn of(leaves: Vec<Digest>) -> Self {
        let mut levels = vec![leaves];
        while let Some(below) = levels.last().filter(|level| level.len() > 1) {
            let above = below.chunks(2).map(|pair| match pair {
                [left, right] => node(left, right),
                alone => alone.first().copied().unwrap_or(Digest([0; 32])),
            });
            let above = above.collect();
            levels.push(above);
        }
        Self(levels)
    }

    /// The inclusion proof of leaf `index` (RFC 6962, 2.1.1), nearest neighbour first.
    pub(crate) fn path(&self, index: u64) -> Vec<Digest> {
        let mut index = usize::try_from(index).unwrap_or(usize::MAX);
        let mut path = Vec::new();
        for level in &self.0 {
            // At the right edge of the tree a node may have no neighbour: then the path has no hash for this level.
            path.extend(level.get(index ^ 1));
            index >>= 1;
        }
        path
    }
}

/// The root that `path` leads to from leaf `index` of a tree of `size` leaves; `None` when it has not
/// the length that such a proof has (RFC 9162, 2.1.3.2).
pub(crate) fn root_from(leaf: Digest, index: u64, size: u64, path: &[Digest]) -> Option<Digest> {
    let (mut place, mut last) = (index, size.checked_sub(1)?);
    if place > last {
        return None;
    }
    let mut root = leaf;
    for neighbour in path {
        // The root is already reached, but the path has more hashes: such a path is no proof for a tree of this size.
        if last == 0 {
            return None;
        }
        if place & 1 == 1 || place == last {
            root = node(neighbour, &root);
            // At the right edge of the tree the node has no neighbour on some levels. The path has no hash for these levels, so
            // pass over them.
            let rises = if place == 0 {
                0
            } else {
                place.trailing_zeros()
            };
            (place, last) = (place >> rises, last >> rises);
        } else {
            root = node(&root, neighbour);
        }
        (place, last) = (place >> 1, last >> 1);
    }
    (last == 0).then_some(root)
}

fn node(left: &Digest, right: &Digest) -> Digest {
    Digest::of(&[&[1], left.as_bytes(), right.as_bytes()])
}

/// In front of a line, so that no line is hashed as a node.
const LEAF: u8 = 0;
/// In bytes, of SHA-256.
const BLOCK: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_hashes_in_turn_are_those_of_one_after_the_other() {
        let line: Vec<u8> = (0..700_u16).map(|byte| byte.to_le_bytes()[0]).collect();
        for length in (0..300).chain([447, 448, 511, 512, 639, 640, 699, 700]) {
            let line = &line[..length];
            let expected = (Digest::of(&[line]), leaf(line));
            assert_eq!(hash_and_leaf(line), expected, "{length} bytes");
        }
    }

    /// MTH as RFC 6962, 2.1 defines it.
    fn defined(leaves: &[Digest]) -> Digest {
        match leaves {
            [] => Digest::of(&[]),
            [leaf] => *leaf,
            more => {
                let left = more.len().next_power_of_two() / 2;
                node(&defined(&more[..left]), &defined(&more[left..]))
            }
        }
    }

    fn leaves(count: usize) -> Vec<Digest> {
        (0..count)
            .map(|number| leaf(number.to_string().as_bytes()))
            .collect()
    }

    /// The eight leaves that the tests of Certificate Transparency use, and the roots of each size.
    #[test]
    fn roots_are_those_of_the_certificate_transparency_vectors() {
        let inputs: [&[u8]; 8] = [
            b"",
            b"\x00",
            b"\x10",
            b"\x20\x21",
            b"\x30\x31",
            b"\x40\x41\x42\x43",
            b"\x50\x51\x52\x53\x54\x55\x56\x57",
            b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
        ];
        let roots = [
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
            "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
            "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
            "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
            "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
            "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
        ];
        let mut tree = Tree::default();
        assert_eq!(tree.root(), defined(&[]));
        for (input, root) in inputs.into_iter().zip(roots) {
            tree.push(leaf(input));
            assert_eq!(tree.root().to_hex(), root);
        }
    }

    #[test]
    fn the_root_kept_over_ten_thousand_lines_is_the_root_of_them_at_once() {
        let leaves = leaves(10_000);
        let mut tree = Tree::default();
        for (index, leaf) in leaves.iter().enumerate() {
            tree.push(*leaf);
            if index < 300 || index % 997 == 0 {
                assert_eq!(
                    tree.root(),
                    defined(&leaves[..=index]),
                    "{} lines",
                    index + 1
                );
            }
        }
        assert_eq!((tree.size(), tree.root()), (10_000, defined(&leaves)));
        assert!(tree.peaks.len() <= 14);
    }

    #[test]
    fn every_line_of_every_small_tree_is_proven_and_nothing_else_is() {
        for size in 1..70_usize {
            let leaves = leaves(size);
            let (levels, root) = (Levels::of(leaves.clone()), defined(&leaves));
            for (index, leaf) in leaves.iter().enumerate() {
                let path = levels.path(index as u64);
                let found = |index: usize, size: usize, path: &[Digest]| {
                    root_from(*leaf, index as u64, size as u64, path) == Some(root)
                };
                assert!(found(index, size, &path), "{index} of {size}");
                for other in (0..size).filter(|other| *other != index) {
                    assert!(!found(other, size, &path), "{index} as {other} of {size}");
                }
                assert!(!found(index, size, &[path.as_slice(), &[root]].concat()));
                if let Some((_, shorter)) = path.split_first() {
                    assert!(!found(index, size, shorter));
                    assert!(!found(index, size, &path[..path.len() - 1]));
                }
            }
        }
    }
}
