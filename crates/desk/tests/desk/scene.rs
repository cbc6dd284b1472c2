//! `signet view --desk` on homes whose daemons run, and a browser that it lets in.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::browser::{Browser, between, split};
use crate::house::{Home, House, eventually};

/// The command, until it is dropped.
pub struct View {
    pub child: Child,
    /// The one-time address that the browser was given.
    pub once: String,
    /// The file in which it stood.
    pub file: PathBuf,
}

impl View {
    /// `signet view --desk` on those homes.
    pub fn open(house: &House, homes: &[&Home], more: &[&str]) -> Self {
        let folder = house.path("runtime");
        std::fs::create_dir_all(&folder).unwrap();
        let opened = house.path("opened");
        let _ = std::fs::remove_file(&opened);
        let browser = house.path("browser");
        let script = format!(
            "#!/bin/sh\nprintf '%s' \"$1\" >{0}.new && mv {0}.new {0}\n",
            opened.display()
        );
        std::fs::write(&browser, script).unwrap();
        std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = homes[0].command(&[&["view", "--desk"][..], more].concat());
        for home in &homes[1..] {
            command.arg("--home").arg(&home.dir);
        }
        command
            .env("BROWSER", &browser)
            .env("XDG_RUNTIME_DIR", &folder);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let child = command.spawn().unwrap();
        let file = eventually("the browser is opened", || {
            std::fs::read_to_string(&opened).ok()
        });
        let file = PathBuf::from(file);
        let page = std::fs::read_to_string(&file).unwrap();
        let once = between(&page, "0; url=", "\"").unwrap().to_owned();
        Self { child, once, file }
    }

    /// Host and port of the desk.
    pub fn host(&self) -> &str {
        split(&self.once).0
    }

    /// A browser that was let in, at the first page.
    pub fn browser(&self) -> (Browser, String) {
        let mut browser = Browser::default();
        let first = browser.follow(None, &self.once);
        assert_eq!(first.status, 200, "{}", first.body);
        assert!(browser.at.contains("/s/"), "{}", browser.at);
        (browser, first.body)
    }

    /// The processes: the command, and what it started.
    pub fn processes(&self) -> Vec<u32> {
        let mut found = vec![self.child.id()];
        let children = format!("/proc/{0}/task/{0}/children", self.child.id());
        let children = std::fs::read_to_string(children).unwrap_or_default();
        found.extend(
            children
                .split_whitespace()
                .filter_map(|pid| pid.parse::<u32>().ok()),
        );
        found
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Alice, who has drafts that wait for approval, and Bob, for whom they are.
pub struct Scene {
    pub house: House,
    pub alice: Home,
    pub bob: Home,
}

impl Scene {
    pub fn new() -> Self {
        let house = House::new();
        let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
        for home in [&alice, &bob] {
            home.configure("# tier = 2", "tier = 4");
        }
        house.acquaint(&[&alice, &bob]);
        alice.start();
        bob.start();
        alice.ping(&bob);
        Self { house, alice, bob }
    }

    /// A draft of tier 4 that waits for approval: its message-id.
    pub fn draft(&self, summary: &str, body: &Value) -> String {
        let secret = json!({
            "peer": self.bob.agent, "kind": "notification", "summary": summary, "body": body, "data-tier": 4
        });
        let sent = self.alice.call("send", &secret).unwrap();
        assert_eq!(sent["waits-for"], "approval", "{sent}");
        sent["message-id"].as_str().unwrap().to_owned()
    }

    pub fn view(&self) -> View {
        View::open(&self.house, &[&self.alice], &[])
    }

    pub fn waiting(&self) -> usize {
        let drafts = self.alice.call("drafts.list", &json!({})).unwrap();
        drafts["drafts"].as_array().unwrap().len()
    }
}

/// Every file of a folder as text.
pub fn texts(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let files = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file());
    files
        .map(|file| String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned())
        .collect()
}
