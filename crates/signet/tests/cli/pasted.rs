//! Lines that people take out of mails, and what is drawn for a camera.

use crate::house::{Home, House, says};

struct Invited {
    line: String,
    words: String,
}

fn invited(home: &Home) -> Invited {
    let args = ["invite", "--address", "nats://house.example:4222"];
    let told = home.json(&args).remove(0);
    let text = |member: &str| told[member].as_str().unwrap().to_owned();
    Invited {
        line: text("invitation"),
        words: text("fingerprint"),
    }
}

/// In lines of so many characters, each behind a mark.
fn wrapped(line: &str, width: usize, mark: &str, end: &str) -> String {
    let chars: Vec<char> = line.chars().collect();
    let lines = chars.chunks(width);
    lines
        .map(|part| format!("{mark}{}{end}", part.iter().collect::<String>()))
        .collect()
}

#[test]
fn an_invitation_that_mail_has_wrapped_or_quoted_is_taken_as_whole() {
    let house = House::new();
    let (alice, bob) = (house.home("alice"), house.home("bob"));
    let Invited { line, words } = invited(&alice);
    let file = house.path("mail.txt");
    let accept = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let file = format!("@{}", file.display());
        bob.cli(&["accept", &file, "--words", &words])
    };
    let changed = line.replacen(
        &line[200..201],
        if &line[200..201] == "A" { "B" } else { "A" },
        1,
    );
    for broken in [
        wrapped(&changed, 70, "> ", "\n"),
        wrapped(&line[..line.len() - 60], 70, "> ", "\r\n"),
    ] {
        let refused = accept(&broken);
        assert_eq!(refused.status.code(), Some(1), "{}", says(&refused));
    }
    assert!(
        bob.done(&["peer", "list"])
            .starts_with("no peers yet\n  next: ")
    );
    let nbsp = wrapped(&line, 70, "", "\u{a0}\n");
    for text in [
        format!("{line}\n"),
        wrapped(&line, 76, "", "\n"),
        wrapped(&line, 72, "> ", "\r\n"),
        wrapped(&line, 72, ">> > ", "\n"),
        wrapped(&line, 75, "", "=\r\n"),
        wrapped(&line, 60, "    ", "\n"),
        wrapped(&line, 50, "", " "),
        nbsp,
        format!(
            "Hello Bob,\n\nhere is my invitation:\n\n{}\n-- \nAlice\nsignet is at https://signet.example\n",
            wrapped(&line, 76, "> ", "\n")
        ),
        format!("“{line}”."),
    ] {
        let accepted = accept(&text);
        assert!(accepted.status.success(), "{text}\n{}", says(&accepted));
    }
    assert!(bob.done(&["peer", "list"]).contains("agent-alice of alice"));
    // Pasted without quotes, an invitation that was wrapped reaches the command as several arguments: `accept` joins
    // them.
    let words_of_a_shell = wrapped(&line, 60, "", " ");
    let mut args = vec!["accept"];
    args.extend(words_of_a_shell.split_whitespace());
    args.extend(["--words", &words]);
    bob.done(&args);
}

#[test]
fn an_invitation_is_written_as_a_picture_once() {
    let house = House::new();
    let alice = house.home("alice");
    let file = house.path("invitation.svg");
    let args = [
        "invite",
        "--address",
        "nats://house.example:4222",
        "--qr-file",
        file.to_str().unwrap(),
    ];
    alice.done(&args);
    let picture = std::fs::read_to_string(&file).unwrap();
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
    alice.fails(1, &args);
}
