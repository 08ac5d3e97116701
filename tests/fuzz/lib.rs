//! Fuzz targets over the parsers of what strangers send. Each states what must hold for every input, and is run by
//! `scripts/fuzz` from the inputs in `corpus/`.

/// Reads an input as `N` texts, one a line; the last has the rest. So the files of a corpus can be read and written by
/// hand. `None` if there are fewer, or the input is no text.
pub fn lines<const N: usize>(input: &[u8]) -> Option<[&str; N]> {
    let lines: Vec<&str> = std::str::from_utf8(input).ok()?.splitn(N, '\n').collect();
    lines.try_into().ok()
}
