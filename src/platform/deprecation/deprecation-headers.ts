import type { Deprecation } from './read-deprecation.js';

/** What the answers of a deprecated operation carry. */
export interface DeprecationHeaders {
  /** RFC 9745, section 2: a date of structured fields, in seconds. */
  Deprecation: string;
  /** RFC 8594, section 3: a date of HTTP. */
  Sunset: string;
  /** RFC 9745, section 3. */
  Link: string;
}

/** The headers that announce a deprecation. */
export function deprecationHeaders({ since, sunset, link }: Deprecation): DeprecationHeaders {
  return {
    Deprecation: `@${since.getTime() / 1000}`,
    Sunset: sunset.toUTCString(),
    Link: `<${link}>; rel="deprecation"; type="text/html"`,
  };
}
