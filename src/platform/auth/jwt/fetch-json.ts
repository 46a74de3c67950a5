import { tracedFetch } from '../../tracing/traced-fetch.js';

/** The API server of Kubernetes answers with its keys nobody who does not name their media type (RFC 7517, section 8.5.2). */
const MEDIA_TYPES = 'application/json, application/jwk-set+json';

/** Largest answer that is read, in bytes. */
const LARGEST_ANSWER = 1024 * 1024;

/**
 * Fetches a JSON document. Redirects are not followed: they would lead to where nobody has checked that it can be believed.
 *
 * @throws Error that names the place, without its query, when there is no JSON to be had, or too much of it
 */
export async function fetchJson(url: string, signal: AbortSignal): Promise<unknown> {
  const place = withoutQuery(url);
  const response = await tracedFetch(url, { redirect: 'manual', headers: { Accept: MEDIA_TYPES }, signal }).catch(
    (cause: unknown) => {
      throw new Error(`${place} does not answer.`, { cause });
    },
  );
  if (response.status !== 200) {
    throw new Error(`${place} answers with status ${response.status}, and must with 200: redirects are not followed.`);
  }
  const text = await read(response, place);
  try {
    return JSON.parse(text);
  } catch {
    // The cause would quote the answer.
    throw new Error(`${place} answers with something else than JSON.`);
  }
}

/** A URL as it may be logged. */
export function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}

async function read({ body }: Response, place: string): Promise<string> {
  const parts: Uint8Array[] = [];
  let length = 0;
  const answer: AsyncIterable<Uint8Array> | Iterable<Uint8Array> = body ?? [];
  try {
    for await (const part of answer) {
      length += part.length;
      if (length > LARGEST_ANSWER) {
        break;
      }
      parts.push(part);
    }
  } catch (cause) {
    throw new Error(`${place} breaks off its answer.`, { cause });
  }
  if (length > LARGEST_ANSWER) {
    throw new Error(`${place} answers with more than ${LARGEST_ANSWER} bytes.`);
  }
  return new TextDecoder().decode(Buffer.concat(parts));
}
