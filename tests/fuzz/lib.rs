//! Fuzz targets for the parsers of untrusted input. Each target asserts the properties of every input. `scripts/fuzz`
//! runs it with the inputs in `corpus/`.

/// Splits an input into `N` texts, one a line; the last has the rest. So the files of a corpus can be read and written
/// by hand. Returns `None` if there are fewer lines, or the input is not UTF-8.
pub fn lines<const N: usize>(input: &[u8]) -> Option<[&str; N]> {
    let lines: Vec<&str> = std::str::from_utf8(input).ok()?.splitn(N, '\n').collect();
    lines.try_into().ok()
}
