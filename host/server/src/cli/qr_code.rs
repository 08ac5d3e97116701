//! QR codes on the terminal.

pub(super) fn print_qr(link: &str) {
    if let Ok(code) = qrcode::QrCode::new(link) {
        println!(
            "{}",
            code.render::<qrcode::render::unicode::Dense1x2>()
                .quiet_zone(true)
                .build()
        );
    }
}
