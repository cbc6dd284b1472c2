//! An invitation as a QR code: on a terminal that is wide enough, or as a picture in a file.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

use qrcode::render::unicode::Dense1x2;
use qrcode::{Color, EcLevel, QrCode};
use rustix::termios::tcgetwinsize;

use crate::cli::{CliError, print};

/// How many columns the terminal has; `None` where something else reads.
pub(super) fn columns() -> Option<usize> {
    let out = io::stdout();
    let size = tcgetwinsize(&out).ok().filter(|_| out.is_terminal())?;
    Some(size.ws_col.into()).filter(|columns| *columns > 0)
}

/// Prints the code where `columns` have room for it: broken lines are no code for any camera.
pub(super) fn print_on(line: &str, columns: Option<usize>) -> Result<(), CliError> {
    let picture = code_of(line)?.render::<Dense1x2>().build();
    match too_narrow(&picture, columns) {
        Some(hint) => {
            anstream::eprintln!("{hint}");
            Ok(())
        }
        None => print(&format!("{picture}\n")),
    }
}

/// What to do where a terminal has no room for the picture.
fn too_narrow(picture: &str, columns: Option<usize>) -> Option<String> {
    let wide = picture.lines().map(|row| row.chars().count()).max();
    let (wide, columns) = (wide.unwrap_or_default(), columns?);
    (columns < wide).then(|| format!(
        "\nThe QR code needs {wide} columns, and this terminal has {columns}: make it wider or its letters smaller, or let a \
         picture be written: signet invite --qr-file invitation.svg"
    ))
}

/// Writes the code as a picture into a new file.
pub(super) fn write(line: &str, file: &Path) -> Result<(), CliError> {
    let picture = svg(&code_of(line)?);
    let made = OpenOptions::new().write(true).create_new(true).open(file);
    let written = made.and_then(|mut made| made.write_all(picture.as_bytes()));
    written.map_err(|error| {
        let what = format!("{}: {error}", file.display());
        CliError::file(&error, what, "name a new file where you may write")
    })
}

fn code_of(line: &str) -> Result<QrCode, CliError> {
    // Use the lowest level of error correction: the line is long, and only a small code fits a terminal.
    QrCode::with_error_correction_level(line, EcLevel::L).map_err(|_| {
        let what = "the line is too long for a QR code";
        let next = "leave --qr and --qr-file out, or name fewer addresses";
        CliError::refused(what, next)
    })
}

/// Each dark module is a square of one unit, with the margin of four that the standard asks for.
fn svg(code: &QrCode) -> String {
    let width = code.width();
    let size = width + 2 * MARGIN;
    let mut dark = String::new();
    for (at, color) in code.to_colors().into_iter().enumerate() {
        if color == Color::Dark {
            let (x, y) = (at % width + MARGIN, at / width + MARGIN);
            // Writing to a String cannot fail.
            let _ = write!(dark, "M{x} {y}h1v1h-1z");
        }
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {size} {size}\" shape-rendering=\"crispEdges\">\
         <path fill=\"#fff\" d=\"M0 0h{size}v{size}H0z\"/><path d=\"{dark}\"/></svg>\n"
    )
}

const MARGIN: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_not_drawn_in_broken_lines_on_eighty_columns() {
        let line = format!("signet:1:{}", "e".repeat(990));
        let picture = code_of(&line).unwrap().render::<Dense1x2>().build();
        let hint = too_narrow(&picture, Some(80)).unwrap();
        assert!(
            hint.contains("has 80") && hint.contains("--qr-file"),
            "{hint}"
        );
        assert_eq!(too_narrow(&picture, Some(200)), None);
        assert_eq!(too_narrow(&picture, None), None, "a file has room for it");
    }

    #[test]
    fn a_picture_has_every_dark_module_of_the_code() {
        let code = code_of("signet:1:eyJ9").unwrap();
        let dark = code
            .to_colors()
            .iter()
            .filter(|color| **color == Color::Dark)
            .count();
        let picture = svg(&code);
        assert_eq!(picture.matches("h1v1h-1z").count(), dark);
        assert!(
            picture.contains(&format!("viewBox=\"0 0 {0} {0}\"", code.width() + 8)),
            "{picture}"
        );
    }
}
