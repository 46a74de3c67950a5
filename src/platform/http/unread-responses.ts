import type { ServerResponse } from 'node:http';
import type { Request } from 'express';
import { clientNetwork } from '../requests/client-address.js';

/** Maximum characters of complete responses that wait in this process, because clients do not read them. */
const MAX_UNREAD = 32 * 2 ** 20;

interface Unread {
  /** Address of the client, or its /64 network. */
  readonly client: string;
  /** Characters unsent when the response was added. */
  readonly size: number;
}

/**
 * @returns a function that adds a complete response. Beyond the limit, it closes the connections of the oldest others of the
 * client that has the most: otherwise, a client without a token could cut the responses of all others
 */
export function unreadLimit(onCut: () => void): (response: ServerResponse) => void {
  /** Complete responses that are not entirely sent, the oldest first. */
  const unread = new Map<ServerResponse, Unread>();
  let total = 0;
  const remove = (response: ServerResponse) => {
    total -= unread.get(response)?.size ?? 0;
    unread.delete(response);
  };
  return (response) => {
    const size = response.writableLength;
    unread.set(response, { client: clientNetwork(response.req as Request), size });
    total += size;
    response.once('close', () => remove(response));
    // The new response stays, even if it alone exceeds the limit.
    while (total > MAX_UNREAD && unread.size > 1) {
      const oldest = oldestOfLargest([...unread].filter(([each]) => each !== response));
      remove(oldest);
      onCut();
      oldest.destroy();
    }
  };
}

/** @param unread - at least one, the oldest first */
function oldestOfLargest(unread: readonly (readonly [ServerResponse, Unread])[]): ServerResponse {
  const sizes = new Map<string, number>();
  for (const [, { client, size }] of unread) sizes.set(client, (sizes.get(client) ?? 0) + size);
  const sizeOf = ([, { client }]: (typeof unread)[number]) => sizes.get(client) ?? 0;
  const [oldest] = unread.reduce((found, each) => (sizeOf(each) > sizeOf(found) ? each : found));
  return oldest;
}
