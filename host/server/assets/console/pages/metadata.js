// A file with a service provider's metadata.

/** The largest file that the server reads, in bytes. */
export const LARGEST_METADATA = 1 << 20;

/**
 * The text of a file; a file in UTF-16 or Latin-1 is sent unchanged, in base64.
 * @param {File} file
 */
export async function metadataOf(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    let binary = '';
    for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
    return btoa(binary);
  }
}
