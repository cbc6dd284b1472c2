//! The homes of the scene, and everything that was written or said in it.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use data_encoding::{BASE64_NOPAD, BASE64URL_NOPAD, HEXLOWER};

use super::MARKER;
use crate::house::{Home, House};

const OFFER: &str = r#"[[capability]]
name = "diary.write"
tier = 4
schema = '{"required": ["entry"], "properties": {"entry": {"maxLength": 3}}, "additionalProperties": false}'
"#;

pub(super) struct Scene {
    pub(super) house: House,
    /// What commands said on standard error, and what they printed that is not for a reader.
    heard: RefCell<Vec<Vec<u8>>>,
}

impl Scene {
    pub(super) fn new() -> Self {
        let house = House::new();
        std::fs::create_dir(house.path("tmp")).unwrap();
        let heard = RefCell::default();
        Self { house, heard }
    }

    pub(super) fn home(&self, name: &str) -> Home {
        let home = self.house.home(name);
        home.configure("# [[capability]]", &format!("{OFFER}# [[capability]]"));
        home
    }

    pub(super) fn command(&self, home: &Home, args: &[&str]) -> Command {
        let mut command = home.command(args);
        command.env("SIGNET_LOG", "trace").env("RUST_LOG", "trace");
        command
            .env("RUST_BACKTRACE", "full")
            .env("TMPDIR", self.house.path("tmp"));
        command
    }

    pub(super) fn start(&self, home: &mut Home) {
        let command = self.command(home, &["run"]);
        home.start_as(command);
    }

    /// A command whose standard output is for a reader.
    pub(super) fn reader(&self, home: &Home, args: &[&str]) -> Output {
        let output = self.command(home, args).output().unwrap();
        self.heard.borrow_mut().push(output.stderr.clone());
        output
    }

    /// A command whose standard output is for nobody in particular.
    pub(super) fn runs(&self, home: &Home, args: &[&str]) -> Output {
        let output = self.reader(home, args);
        self.heard.borrow_mut().push(output.stdout.clone());
        output
    }

    /// A line on the control socket that is no good call, and what comes back.
    pub(super) fn line(&self, home: &Home, line: &str) -> String {
        let mut socket = UnixStream::connect(home.dir.join("control.sock")).unwrap();
        // Ignore failures: the daemon closes the connection on a line that is too long, and may or may not say why
        // before.
        let _ = socket.write_all(format!("{line}\n").as_bytes());
        let mut answer = String::new();
        let _ = BufReader::new(socket).read_line(&mut answer);
        self.heard.borrow_mut().push(answer.clone().into_bytes());
        answer
    }

    /// Every byte that was written or said, with where it is.
    pub(super) fn traces(&self) -> Vec<(String, Vec<u8>)> {
        let files = tree(&self.house.path("."));
        let files = files.into_iter().filter(|file| file.is_file());
        let read = |file: PathBuf| (file.display().to_string(), std::fs::read(&file).unwrap());
        let heard = self.heard.borrow();
        let heard = heard
            .iter()
            .map(|bytes| ("a command".to_owned(), bytes.clone()));
        files.map(read).chain(heard).collect()
    }
}

pub(super) fn tree(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => tree(&path),
            false => vec![path],
        })
        .collect()
}

/// The marker in clear, in hexadecimal, and in base64 wherever it may begin.
fn forms(marker: &str) -> Vec<Vec<u8>> {
    let mut forms = vec![
        marker.as_bytes().to_vec(),
        HEXLOWER.encode(marker.as_bytes()).into_bytes(),
    ];
    for shift in 0..3 {
        let shifted = [&vec![0; shift], marker.as_bytes()].concat();
        for text in [
            BASE64_NOPAD.encode(&shifted),
            BASE64URL_NOPAD.encode(&shifted),
        ] {
            // The first and last characters hold bits of the neighbours.
            forms.push(text.as_bytes()[4..text.len() - 4].to_vec());
        }
    }
    forms
}

pub(super) fn holds(bytes: &[u8], marker: &str) -> bool {
    let found = |form: &Vec<u8>| bytes.windows(form.len()).any(|part| part == form);
    forms(marker).iter().any(found)
}

/// What stands before the marker, for whoever has to find out why.
pub(super) fn around(bytes: &[u8]) -> String {
    let forms = forms(MARKER);
    let at = forms
        .iter()
        .find_map(|form| bytes.windows(form.len()).position(|part| part == form));
    let at = at.unwrap_or_default();
    String::from_utf8_lossy(&bytes[at.saturating_sub(300)..at]).into_owned()
}
