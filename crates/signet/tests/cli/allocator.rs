//! The allocator in the program has the settings that the build names (docs/decisions/0022-jemalloc.md).

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::house::{says, signet};

/// Without them an idle daemon holds a fifth more.
#[test]
fn the_programs_memory_comes_from_jemalloc_as_the_build_sets_it() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cargo/config.toml");
    let config: toml::Table = fs::read_to_string(file).unwrap().parse().unwrap();
    let settings = config["env"]["JEMALLOC_SYS_WITH_MALLOC_CONF"]
        .as_str()
        .unwrap();
    let mut version = Command::new(signet());
    let output = version
        .arg("--version")
        .env("_RJEM_MALLOC_CONF", "confirm_conf:true")
        .output()
        .unwrap();
    let said = says(&output);
    assert!(settings.contains("narenas:1,"), "{settings}");
    for setting in settings.split(',') {
        let line = format!("<jemalloc>: -- Set conf value: {setting}");
        assert!(said.lines().any(|said| said == line), "{setting}: {said}");
    }
}
