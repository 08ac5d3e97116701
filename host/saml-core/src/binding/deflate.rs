//! The compression of the redirect binding: raw DEFLATE, without a header or checksum (RFC 1951, SAML bindings section
//! 3.4.4.1).

use std::io::Write;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Decompress, FlushDecompress, Status};

use super::BindingError;

/// Decompresses a complete stream. The output never exceeds `limit` bytes in memory, independent of the decompressed
/// size.
///
/// # Errors
/// [`BindingError::TooLong`], [`BindingError::Deflate`] for a malformed or truncated stream,
/// [`BindingError::Trailing`].
pub(super) fn inflate(stream: &[u8], limit: usize) -> Result<Vec<u8>, BindingError> {
    // One byte more than the limit distinguishes a stream that ends at the limit from a longer one.
    let mut out = Vec::with_capacity(limit.saturating_add(1));
    let mut inflater = Decompress::new(false);
    let status = inflater.decompress_vec(stream, &mut out, FlushDecompress::Finish);
    if out.len() > limit {
        return Err(BindingError::TooLong);
    }
    match status {
        Ok(Status::StreamEnd) if usize::try_from(inflater.total_in()) == Ok(stream.len()) => {
            Ok(out)
        }
        Ok(Status::StreamEnd) => Err(BindingError::Trailing),
        Ok(Status::Ok | Status::BufError) | Err(_) => Err(BindingError::Deflate),
    }
}

/// Compresses bytes.
///
/// # Errors
/// An error of the compressor. Writing to memory cannot fail.
pub(super) fn deflate(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_decompression_bomb_stops_at_the_limit() {
        let bomb = deflate(&vec![b'a'; 50_000_000]).unwrap();
        assert!(bomb.len() < 60_000);
        assert_eq!(inflate(&bomb, 1000), Err(BindingError::TooLong));
    }

    #[test]
    fn the_limit_itself_is_allowed() {
        let at = |length| inflate(&deflate(&vec![b'a'; length]).unwrap(), 1000);
        assert_eq!(at(1000).unwrap().len(), 1000);
        assert_eq!(at(1001), Err(BindingError::TooLong));
    }

    #[test]
    fn truncated_streams_and_trailing_data_are_rejected() {
        let mut stream = deflate(b"<a>some text, some text</a>").unwrap();
        for length in 0..stream.len() {
            assert_eq!(
                inflate(&stream[..length], 1000),
                Err(BindingError::Deflate),
                "{length}"
            );
        }
        for trailing in ["\0", "<b/>", "more"] {
            let longer = [&stream, trailing.as_bytes()].concat();
            assert_eq!(
                inflate(&longer, 1000),
                Err(BindingError::Trailing),
                "{trailing:?}"
            );
        }
        // A second stream is trailing data, too.
        stream.extend(stream.clone());
        assert_eq!(inflate(&stream, 1000), Err(BindingError::Trailing));
    }

    #[test]
    fn a_header_of_zlib_or_gzip_is_rejected() {
        for header in [&[0x78, 0x9c][..], &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]] {
            let stream = [header, &deflate(b"<a/>").unwrap()].concat();
            assert_eq!(inflate(&stream, 1000), Err(BindingError::Deflate));
        }
    }

    proptest! {
        #[test]
        fn compressed_bytes_round_trip(bytes in proptest::collection::vec(any::<u8>(), 0..3000)) {
            prop_assert_eq!(inflate(&deflate(&bytes).unwrap(), 3000).unwrap(), bytes);
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), limit in 0usize..300) {
            if let Ok(out) = inflate(&bytes, limit) {
                prop_assert!(out.len() <= limit);
            }
        }
    }
}
