import type { ServerResponse } from 'node:http';

/** Maximum of what clients have not read of complete responses, without the buffers of the system, in characters. */
const MAX_UNREAD = 32 * 2 ** 20;

/** @returns adds a complete response. If too much is unread then, the connections of the oldest others are closed */
export function unreadLimit(onCut: () => void): (response: ServerResponse) => void {
  /** Complete responses that are not sent to the end, the oldest first, with the length of their rest at first. */
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
      // One alone can be larger.
      if (total <= MAX_UNREAD || oldest === response) {
        return;
      }
      remove(oldest);
      onCut();
      oldest.destroy();
    }
  };
}
