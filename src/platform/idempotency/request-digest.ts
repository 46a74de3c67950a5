import { createHash } from 'node:crypto';

/** What makes a request another one. */
interface RequestIdentity {
  method: string;
  /** Path and query. */
  url: string;
  /** The JSON body as it was sent, parsed. */
  body: unknown;
}

/** SHA-256 over a request. How its JSON is spelled, by the order of properties for example, makes no difference. */
export function requestDigest({ method, url, body }: RequestIdentity): Buffer {
  return createHash('sha256')
    .update(`${method} ${url}\n${canonicalJson(body)}`)
    .digest();
}

/** JSON with the properties of objects in the order of their names. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
