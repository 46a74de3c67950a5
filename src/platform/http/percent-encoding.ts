/** Whether percent signs in a text encode valid UTF-8 (RFC 3986, section 2.1). */
export function isDecodable(text: string): boolean {
  try {
    // The result is used because the bundler drops calls that seem to have no effect.
    return typeof decodeURIComponent(text) === 'string';
  } catch {
    return false;
  }
}
