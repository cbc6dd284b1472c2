//! Keys in files: exported for a safe place, recovered, in the forms of others.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use signet_proto::ids::AgentId;

use super::{CliError, open, print};
use crate::cli::setup::init::{DraftHome, refuse_if_used};
use crate::clock;
use crate::config::Config;
use crate::files::private;
use crate::home::Home;
use crate::keystore::{
    self, AUDIT, Bundle, CONTROL, KeyFormat, NEXT_ROOT, Passphrase, ROOT, Recovered,
};

/// See `signet key export --help`.
#[derive(Debug, Args)]
#[command(after_help = EXPORT_EXAMPLE)]
pub(super) struct KeyExportArgs {
    /// The new file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Encrypt the secrets with the passphrase in the first line of this file
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// The root key [default: keys/root.pem]
    #[arg(long, value_name = "FILE")]
    root: Option<PathBuf>,
    /// The next root key [default: keys/next-root.pem]
    #[arg(long, value_name = "FILE")]
    next_root: Option<PathBuf>,
    /// The control key [default: keys/control.pem]
    #[arg(long, value_name = "FILE")]
    control: Option<PathBuf>,
    /// The audit sealing key, and older ones [default: keys/audit.pem and keys/audit-*.pem]
    #[arg(long, value_name = "FILE")]
    audit: Vec<PathBuf>,
}

/// See `signet key recover --help`.
#[derive(Debug, Args)]
#[command(after_help = RECOVER_EXAMPLE)]
pub(super) struct RecoverArgs {
    /// What `signet key export` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The agent's id: the old one, or another
    #[arg(long, value_name = "ID")]
    agent: AgentId,
    /// The passphrase, in the first line of this file
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// Also write root, next root, control and audit key as single files into this directory
    #[arg(long, value_name = "DIR")]
    keys: Option<PathBuf>,
}

/// See `signet key convert --help`.
#[derive(Debug, Args)]
#[command(after_help = CONVERT_EXAMPLE)]
pub(super) struct ConvertArgs {
    /// The private key to read, PKCS#8 or OpenSSH
    #[arg(long = "in", value_name = "FILE")]
    from: PathBuf,
    /// The form to write
    #[arg(long, value_name = "FORM")]
    to: To,
    /// The new file
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum To {
    /// As ssh-keygen writes it
    Openssh,
    /// As signet and OpenSSL write it
    Pkcs8,
}

pub(super) fn export(args: KeyExportArgs, home: &Home) -> Result<(), CliError> {
    let (_, keys) = open(home)?;
    let named = |file: Option<PathBuf>, name| file.unwrap_or_else(|| home.key_file(name));
    let mut files = vec![named(args.root, ROOT), named(args.next_root, NEXT_ROOT)];
    if keys.control.is_some() {
        files.push(named(args.control, CONTROL));
        if args.audit.is_empty() {
            let old = keystore::kept(home)?.into_iter();
            files.push(home.key_file(AUDIT));
            files.extend(old.filter(|old| old.kind == "audit").map(|old| old.path));
        }
        files.extend(args.audit);
    }
    let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    let bundle = Bundle::collect(&keys, &files)?;
    let passphrase = args.passphrase_file.as_deref().map(Passphrase::read);
    let passphrase = passphrase.transpose()?;
    let text = bundle.to_text(passphrase.as_ref())?;
    private::create(&args.file, text.as_bytes())?;
    print(&format!(
        "{} holds {} secret keys{}, and the certificates\n\
         Whoever has it is {}: carry it to a safe place, off this machine.\n",
        args.file.display(),
        files.len(),
        if passphrase.is_some() {
            ", encrypted with the passphrase"
        } else {
            " IN CLEAR"
        },
        keys.certificate.principal,
    ))
}

pub(super) fn recover(args: &RecoverArgs, home: &Home) -> Result<(), CliError> {
    let passphrase = args.passphrase_file.as_deref().map(Passphrase::read);
    let bundle = Bundle::read(&args.file, passphrase.transpose()?.as_ref())?;
    refuse_if_used(home)?;
    let template = Config::template(&args.agent, &bundle.certificate.principal);
    Config::parse(&template, home, None)?;
    let draft = DraftHome::new(home)?;
    private::create(&draft.home.config_file(), template.as_bytes())?;
    let from = Recovered {
        agent: args.agent.clone(),
        bundle: &bundle,
    };
    let certificate = keystore::recover(&draft.home, &from, clock::now())?;
    // Write the key files that `--keys` asks for before the new home gets its name: if they cannot be written, no home is left
    // half recovered.
    if let Some(directory) = &args.keys {
        bundle.write_keys(directory)?;
    }
    draft.finish(home)?;
    let old = &bundle.certificate;
    let again = old.agent == args.agent;
    print(&format!(
        "{} of {} is made in {}, with serial {}\n\
         Its signing and sealing keys are new; root, control and audit keys stay in the file.\n\
         Lost: what was sealed for the old sealing key and not opened yet, the log, and what waited.\n{}\n\
         If the old keys may be in wrong hands, or the old home may ever run again, revoke them:\n  \
         signet key revoke --agent {} --serial {} --reason TEXT --root ROOT --out revocation.json\n",
        certificate.agent,
        certificate.principal,
        home.path().display(),
        certificate.serial,
        if again {
            "Peers take it by its higher serial; add them again with signet peer add."
        } else {
            "It is another agent than before: hand signet peer export to your peers."
        },
        old.agent,
        // The agent may have been certified again after the export: so revoke all serials below the new one, and at
        // least the serial of the exported certificate.
        certificate.serial.saturating_sub(1).max(old.serial),
    ))
}

pub(super) fn convert(args: &ConvertArgs) -> Result<(), CliError> {
    let form = match args.to {
        To::Openssh => KeyFormat::Openssh,
        To::Pkcs8 => KeyFormat::Pkcs8,
    };
    keystore::convert(&args.from, form, &args.out)?;
    print(&format!("{} holds the same key\n", args.out.display()))
}

pub(super) fn public(file: &Path) -> Result<(), CliError> {
    print(&format!("{}\n", keystore::public_line(file)?))
}

const EXPORT_EXAMPLE: &str = "\
EXAMPLE:
  signet key export /media/stick/alice.pem --passphrase-file pass
  signet key export alice.pem --root /media/stick/root.pem --next-root /media/safe/next-root.pem";
const RECOVER_EXAMPLE: &str = "\
EXAMPLE:
  signet key recover /media/stick/alice.pem --passphrase-file pass --home alice --agent agent-alice-001";
const CONVERT_EXAMPLE: &str = "\
EXAMPLE:
  signet key convert --in ~/.ssh/id_ed25519 --to pkcs8 --out root.pem";
