//! QR codes on the terminal.

use assent_admin_client::terminal;
use std::io::IsTerminal;

/// Prints a link as a QR code, if standard output is a terminal. A log or another program needs only the link.
pub(super) fn print_qr(link: &str) {
    if std::io::stdout().is_terminal()
        && let Ok(code) = qrcode::QrCode::new(link)
    {
        terminal::report_line(format_args!(
            "{}",
            code.render::<qrcode::render::unicode::Dense1x2>()
                .quiet_zone(true)
                .build()
        ));
    }
}
