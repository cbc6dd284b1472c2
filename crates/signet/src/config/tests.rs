use std::os::unix::fs::PermissionsExt as _;

use signet_proto::headers::Tier;

use super::*;

const MINIMAL: &str = "[agent]\nagent = \"agent-alice-001\"\nprincipal = \"alice\"\n";

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(text, &Home::at("/home"), None)
}

/// The fault of `text` appended to a configuration of three lines.
fn fault(text: &str) -> String {
    let error = parse(&format!("{MINIMAL}{text}")).unwrap_err();
    format!("{error}; {}", error.next())
}

#[test]
fn two_ids_are_enough() {
    let config = parse(MINIMAL).unwrap();
    assert_eq!(config.agent.layers, Layers::of(&[0, 1, 2, 3]));
    assert_eq!(config.nats.servers, ["nats://127.0.0.1:4222"]);
    assert_eq!(config.nats.login, NatsLogin::None);
    assert_eq!(config.nats.mailbox, MailboxMode::Jetstream);
    assert_eq!(config.audit_dir, Path::new("/home/audit/agent-alice-001"));
    assert_eq!(config.control_socket, Path::new("/home/control.sock"));
    assert_eq!(config.policy.tier, Tier::Restricted);
    assert_eq!(config.policy.messages_per_minute, Some(120));
    assert!(config.policy.capabilities.is_empty());
}

#[test]
fn the_template_is_the_default() {
    let text = Config::template(
        &"agent-alice-001".parse().unwrap(),
        &"alice".parse().unwrap(),
    );
    assert_eq!(parse(&text).unwrap(), parse(MINIMAL).unwrap());
}

#[test]
fn the_templates_comments_are_valid_when_uncommented() {
    let text = Config::template(
        &"agent-alice-001".parse().unwrap(),
        &"alice".parse().unwrap(),
    );
    let active = |line: &str| match line.strip_prefix("# ") {
        Some(rest) if rest.contains(" = ") || rest.starts_with("[[") => rest.to_owned(),
        _ => line.to_owned(),
    };
    let one_login = |line: &&str| !line.contains("creds =") && !line.contains("nkey =");
    let lines: Vec<String> = text.lines().filter(one_login).map(active).collect();
    let config = parse(&lines.join("\n")).unwrap();
    assert_eq!(
        config.policy.capabilities[0].name.as_str(),
        "calendar.free-busy"
    );
    assert!(config.nats.tls_client.is_some());
}

#[test]
fn everything_can_be_set() {
    let config = parse(&format!(
        "{MINIMAL}layers = [0, 1]\n[nats]\nservers = [\"tls://a:4222\", \"nats://b:4222\"]\nuser = \"u\"\n\
         password-file = \"/run/p\"\ntls = {{ ca = \"ca.pem\", cert = \"c.pem\", key = \"k.pem\", required = true }}\n\
         [audit]\ndir = \"/var/log/signet\"\n[control]\nsocket = \"/run/signet.sock\"\n[grant]\ntier = 1\n\
         [[capability]]\nname = \"calendar.free-busy\"\n[[capability]]\nname = \"diary\"\ntier = 4\n"
    ))
    .unwrap();
    assert_eq!(config.agent.layers, Layers::of(&[0, 1]));
    assert_eq!(config.nats.servers, ["tls://a:4222", "nats://b:4222"]);
    let login = NatsLogin::User {
        user: "u".to_owned(),
        password_file: "/run/p".into(),
    };
    assert_eq!(config.nats.login, login);
    assert_eq!(
        config.nats.tls_ca.as_deref(),
        Some(Path::new("/home/ca.pem"))
    );
    assert!(config.nats.tls_required);
    assert_eq!(
        config.audit_dir,
        Path::new("/var/log/signet/agent-alice-001")
    );
    assert_eq!(config.control_socket, Path::new("/run/signet.sock"));
    assert_eq!(config.policy.tier, Tier::Public);
    let tiers: Vec<Tier> = config
        .policy
        .capabilities
        .iter()
        .map(|capability| capability.tier)
        .collect();
    assert_eq!(tiers, [Tier::Household, Tier::Restricted]);
}

#[test]
fn a_peer_has_rules_of_its_own() {
    let config = parse(&format!(
        "{MINIMAL}[tiers]\nsensitive = [0, 1, 2, 7]\nrestricted = [0, 1, 2, 3, 7]\n\
         [grant]\ntier = 2\ncapabilities = [\"a\"]\nmessages-per-minute = 10\n\
         [[peer]]\nid = \"agent-bob\"\ntier = 3\ncapabilities = [\"a\", \"b\"]\nmessages-per-minute = 20\n\
         [[peer]]\nid = \"agent-carol\"\ncapabilities = []\n\
         [[capability]]\nname = \"a\"\n[[capability]]\nname = \"b\"\ndescription = \"Does b\"\n"
    ))
    .unwrap();
    let grant = |agent: &str| config.policy.allowance(&agent.parse().unwrap()).grant();
    let names = |agent: &str| grant(agent).capabilities.len();
    let of = |agent: &str| {
        (
            grant(agent).tier,
            names(agent),
            grant(agent).messages_per_minute,
        )
    };
    assert_eq!(of("agent-bob"), (Tier::Sensitive, 2, Some(20)));
    assert_eq!(of("agent-carol"), (Tier::Household, 0, Some(10)));
    assert_eq!(of("agent-dave"), (Tier::Household, 1, Some(10)));
    assert_eq!(
        config.policy.table.layers(Tier::Sensitive),
        Layers::of(&[0, 1, 2, 7])
    );
    assert_eq!(
        config.policy.table.layers(Tier::Household),
        Layers::of(&[0, 1])
    );
}

#[test]
fn a_schema_stands_in_the_file_or_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path());
    let file = dir.path().join("week.schema.json");
    std::fs::write(&file, r#"{"required": ["week"]}"#).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let text = format!(
        "{MINIMAL}[[capability]]\nname = \"a\"\nschema = \"week.schema.json\"\n\
         [[capability]]\nname = \"b\"\nschema = '''{{\"required\": [\"week\"]}}'''\n"
    );
    let policy = Config::parse(&text, &home, None).unwrap().policy;
    let schemas: Vec<_> = policy
        .capabilities
        .iter()
        .map(|known| known.schema.clone())
        .collect();
    assert!(schemas[0].is_some() && schemas[0] == schemas[1]);
    std::fs::write(
        &file,
        format!("{{\"description\": \"{}\"}}", "x".repeat(64 * 1024)),
    )
    .unwrap();
    let error = Config::parse(&text, &home, None).unwrap_err().to_string();
    assert!(
        error.contains("line 6: `schema`") && error.contains("64 KiB"),
        "{error}"
    );
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
    let error = Config::parse(&text, &home, None).unwrap_err().to_string();
    assert!(
        error.contains("others than its owner may change it"),
        "{error}"
    );
}

#[test]
fn a_rule_that_could_not_hold_is_named_with_its_key_and_line() {
    let schema = |text: &str| format!("[[capability]]\nname = \"a\"\nschema = '''{text}'''\n");
    let cases = [
        (
            "[tiers]\nsensitive = [0]\n".to_owned(),
            "line 5: `sensitive` in [tiers]: it asks for less",
        ),
        (
            "[tiers]\npublic = [16]\n".to_owned(),
            "line 5: `public` in [tiers]",
        ),
        (
            "[grant]\nmessages-per-minute = 0\n".to_owned(),
            "a number from 1 to 1000000",
        ),
        (
            "[grant]\ncapabilities = [\"a\"]\n".to_owned(),
            "\"a\" is the name of no [[capability]]",
        ),
        (
            "[[peer]]\nid = \"b\"\n[[peer]]\nid = \"b\"\n".to_owned(),
            "line 7: `id` in [[peer]]: another",
        ),
        (
            "[[peer]]\ntier = 2\n".to_owned(),
            "`id` is missing in [[peer]]",
        ),
        (
            schema("{\"type\": \"strin\"}"),
            "line 6: `schema` in [[capability]]: at #/type",
        ),
        (
            schema("{\"type\": "),
            "line 6: `schema` in [[capability]]: no JSON",
        ),
        (
            schema("{\"$ref\": \"https://example.org/a.json\"}"),
            "at #/$ref: write it as",
        ),
        (
            schema("{\"$ref\": \"#/$defs/a\"}"),
            "at #/$ref: it leads to nothing",
        ),
        (
            schema("{\"items\": {\"$ref\": \"#\"}}"),
            "at #/items/$ref: it leads back to itself",
        ),
        (schema("{\"pattern\": \"(?=a)\"}"), "at #/pattern"),
    ];
    for (text, expected) in cases {
        let fault = fault(&text);
        assert!(fault.contains(expected), "{fault}");
    }
}

#[test]
fn the_environment_comes_before_the_file() {
    let text = format!("{MINIMAL}[nats]\nservers = [\"nats://file:4222\"]\n");
    let home = Home::at("/home");
    let config = Config::parse(&text, &home, Some("nats://one:4222, nats://two:4222")).unwrap();
    assert_eq!(config.nats.servers, ["nats://one:4222", "nats://two:4222"]);
    assert_eq!(
        Config::parse(&text, &home, Some("")).unwrap().nats.servers,
        ["nats://file:4222"]
    );
}

#[test]
fn an_unknown_key_is_named_with_its_line_and_the_nearest_known_one() {
    let cases = [
        (
            "[nats]\nserver = [\"nats://x:1\"]\n",
            5,
            "\"server\" in [nats]",
            "did you mean `servers`?",
        ),
        (
            "[nats.tls]\nrequire = true\n",
            5,
            "\"require\" in [nats.tls]",
            "did you mean `required`?",
        ),
        (
            "[Audit]\ndir = \"a\"\n",
            4,
            "\"Audit\" in the file",
            "did you mean `audit`?",
        ),
        (
            "[[capability]]\nname = \"a\"\nteir = 2\n",
            6,
            "\"teir\" in [[capability]]",
            "did you mean `tier`?",
        ),
        (
            "[grant]\nzzzzzzzz = 2\n",
            5,
            "\"zzzzzzzz\" in [grant]",
            "known here: tier, capabilities, messages-per-minute, conversation-messages-per-minute; where a newer signet wrote it, use that release",
        ),
    ];
    for (text, line, what, next) in cases {
        let said = fault(text);
        assert!(
            said.starts_with(&format!("config.toml line {line}: unknown key {what}")),
            "{said}"
        );
        assert!(said.ends_with(next), "{said}");
    }
}

#[test]
fn what_stands_twice_is_named_with_the_line_where_it_stands_first() {
    let cases = [
        (
            "[nats]\nservers = [\"nats://x:1\"]\n\n[agent]\nlayers = [0]\n",
            "config.toml line 7: [agent] stands twice, and first in line 1; write what stands below line 7 behind line 1, and remove line 7",
        ),
        (
            "[nats]\n# servers = []\nservers = [\"nats://x:1\"]\nservers = [\"nats://y:1\"]\n",
            "config.toml line 7: `servers` in [nats] stands twice, and first in line 6; remove line 6 or line 7",
        ),
        (
            "[[capability]]\nname = \"a\"\n[[capability]]\nname = \"b\"\nname = \"c\"\n",
            "config.toml line 8: `name` in [[capability]] stands twice, and first in line 7; remove line 7 or line 8",
        ),
    ];
    for (text, said) in cases {
        assert_eq!(fault(text), said);
    }
}

#[test]
fn a_bad_value_is_named_with_its_key_and_line() {
    let cases = [
        ("layers = [0, 16]\n", "line 4: `layers` in [agent]"),
        ("layers = 3\n", "line 4: `layers` in [agent]"),
        (
            "\n[grant]\ntier = 5\n",
            "line 6: `tier` in [grant]: a number from 1 to 4",
        ),
        ("[grant]\ntier = \"2\"\n", "line 5: `tier` in [grant]"),
        (
            "[[capability]]\nname = \"Not A Name\"\n",
            "line 5: `name` in [[capability]]",
        ),
        (
            "[[capability]]\nname = \"a\"\ntier = 5\n",
            "line 6: `tier` in [[capability]]",
        ),
        (
            "[[capability]]\nname = \"a\"\n[[capability]]\nname = \"a\"\n",
            "line 7: `name` in [[capability]]",
        ),
        (
            "capability = 1\n",
            "line 4: unknown key \"capability\" in [agent]",
        ),
        (
            "[nats]\nservers = \"nats://x:1\"\n",
            "line 5: `servers` in [nats]",
        ),
        ("[nats]\nservers = []\n", "line 5: `servers` in [nats]"),
        (
            "[nats]\nmailbox = \"none\"\n",
            "line 5: `mailbox` in [nats]: \"jetstream\" or \"core\"",
        ),
        (
            "[nats]\ndomain = \"hub.>\"\n",
            "line 5: `domain` in [nats]: write the name that the server has",
        ),
        (
            "[nats]\nservers = [\"http://x\"]\n",
            "line 5: `servers` in [nats]",
        ),
        (
            "[nats]\nuser = \"u\"\n",
            "line 5: `user` in [nats]: it needs `password-file`",
        ),
        (
            "[nats]\nnkey = \"n\"\ncreds = \"c\"\n",
            "line 6: `creds` in [nats]: use only one",
        ),
        (
            "[nats.tls]\ncert = \"c\"\n",
            "line 5: `cert` in [nats.tls]: it needs `key`",
        ),
        (
            "[nats.tls]\nrequired = 1\n",
            "line 5: `required` in [nats.tls]",
        ),
        ("[audit]\ndir = \"\"\n", "line 5: `dir` in [audit]"),
        ("[audit\n", "line 4: "),
        ("[agent]\n", "line 4: "),
    ];
    for (text, start) in cases {
        let said = fault(text);
        assert!(said.starts_with(&format!("config.toml {start}")), "{said}");
    }
}

#[test]
fn a_missing_id_is_named() {
    let error = parse("[agent]\nagent = \"a\"\n").unwrap_err();
    assert_eq!(
        format!("{error}; {}", error.next()),
        "config.toml line 1: `principal` is missing in [agent]; add `principal = …` under [agent]"
    );
    let error = parse("").unwrap_err();
    assert_eq!(
        format!("{error}; {}", error.next()),
        "config.toml line 1: `agent` is missing in [agent]; add `agent = …` under [agent]"
    );
}

#[test]
fn a_password_in_a_url_is_refused_and_not_repeated() {
    let said = fault("[nats]\nservers = [\"nats://alice:hunter2@x:4222\"]\n");
    assert!(
        said.contains("`password-file`") && !said.contains("hunter2"),
        "{said}"
    );
    // Leave the string unclosed on purpose: the TOML parser's own error would quote this line, and the password in it must not
    // be shown.
    let said = fault("[nats]\nservers = [\"nats://alice:hunter2@x:4222\n");
    assert!(!said.contains("hunter2"), "{said}");
}

#[test]
fn a_socket_path_that_the_system_cannot_hold_is_refused() {
    let fits = Home::at(format!("/{}", "d".repeat(107 - "//control.sock".len())));
    assert_eq!(
        Config::parse(MINIMAL, &fits, None)
            .unwrap()
            .control_socket
            .as_os_str()
            .len(),
        107
    );
    let longer = Home::at(format!("/{}", "d".repeat(108 - "//control.sock".len())));
    let error = Config::parse(MINIMAL, &longer, None).unwrap_err();
    assert!(
        matches!(error, ConfigError::SocketPath { length: 108, .. }),
        "{error}"
    );
}

#[test]
fn a_login_that_others_can_read_is_refused_with_the_command_to_run() {
    let directory = tempfile::tempdir().unwrap();
    let home = Home::at(directory.path());
    std::fs::write(
        home.config_file(),
        format!("{MINIMAL}[nats]\nnkey = \"nats.nk\"\n"),
    )
    .unwrap();
    let seed = home.join("nats.nk");
    std::fs::write(&seed, "SUSECRET").unwrap();
    chmod(&seed, 0o644);
    let error = Config::load(&home).unwrap_err();
    assert_eq!(error.next(), format!("chmod 600 {}", seed.display()));
    assert!(!format!("{error} {error:?}").contains("SUSECRET"));
    chmod(&seed, 0o600);
    Config::load(&home).unwrap();
}

#[test]
fn a_configuration_that_others_can_change_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let home = Home::at(directory.path());
    std::fs::write(home.config_file(), MINIMAL).unwrap();
    chmod(&home.config_file(), 0o620);
    let error = Config::load(&home).unwrap_err();
    assert!(
        matches!(error, ConfigError::Writable { mode: 0o620, .. }),
        "{error}"
    );
}

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn the_key_that_logs_in_is_used_when_it_was_made_and_nothing_else_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path());
    let login = |text: &str| {
        let text = format!("{MINIMAL}{text}");
        Config::parse(&text, &home, None).unwrap().nats.login
    };
    assert_eq!(login(""), NatsLogin::None);
    std::fs::write(home.nats_seed(), "SU").unwrap();
    assert_eq!(login(""), NatsLogin::Nkey(home.nats_seed()));
    let other = login("[nats]\ncreds = \"x.creds\"\n");
    assert_eq!(other, NatsLogin::Creds(home.join("x.creds")));
}

#[test]
fn core_nats_can_be_asked_for() {
    let config = parse(&format!("{MINIMAL}[nats]\nmailbox = \"core\"\n")).unwrap();
    assert_eq!(config.nats.mailbox, MailboxMode::Core);
}

#[test]
fn the_file_of_a_password_may_be_named_as_releases_before_did() {
    let of = |key: &str| {
        let text = format!("{MINIMAL}[nats]\nuser = \"u\"\n{key} = \"p\"\n");
        parse(&text).unwrap().nats.login
    };
    assert_eq!(of("password_file"), of("password-file"));
    let both = fault("[nats]\nuser = \"u\"\npassword_file = \"p\"\npassword-file = \"p\"\n");
    assert!(both.contains("`password-file`"), "{both}");
    let none = fault("[nats]\npasswrd = \"p\"\nmailboks = \"core\"\nzzzzzzzzz = 1\n");
    assert!(!none.contains("password_file"), "{none}");
}
