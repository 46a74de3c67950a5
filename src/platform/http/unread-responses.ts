import type { ServerResponse } from 'node:http';

/** Maximum characters of complete responses that wait in this process, because clients do not read them. */
const MAX_UNREAD = 32 * 2 ** 20;

/** @returns a function that adds a complete response, and closes the connections of the oldest others beyond the limit */
export function unreadLimit(onCut: () => void): (response: ServerResponse) => void {
  /** Complete responses that are not entirely sent, the oldest first, with the characters unsent when each was added. */
  const unread = new Map<ServerResponse, number>();
  let total = 0;
  const remove = (response: ServerResponse) => {
    total -= unread.get(response) ?? 0;
    unread.delete(response);
  };
  return (response) => {
    unread.set(response, response.writableLength);
    total += response.writableLength;
    response.once('close', () => remove(response));
    for (const oldest of unread.keys()) {
      // The new response stays, even if it alone exceeds the limit.
      if (total <= MAX_UNREAD || oldest === response) {
        return;
      }
      remove(oldest);
      onCut();
      oldest.destroy();
    }
  };
}
