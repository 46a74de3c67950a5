import type { ServerResponse } from 'node:http';

/** Maximum of what clients have not read of complete responses, without the buffers of the system, in characters. */
const MAX_UNREAD = 32 * 2 ** 20;

/** Limits the memory of responses whose clients do not read them, or read slowly, over all connections. */
export class UnreadResponses {
  /** Complete responses that are not sent to the end, the oldest first, with the length of their rest at first. */
  private readonly unread = new Map<ServerResponse, number>();
  private total = 0;

  /** @param onCut - called for each connection that is closed */
  constructor(private readonly onCut: () => void) {}

  /** Adds a complete response. If it makes them too much, the connections of the oldest others are closed. */
  add(response: ServerResponse): void {
    const length = response.writableLength;
    this.unread.set(response, length);
    this.total += length;
    response.once('close', () => this.remove(response));
    for (const oldest of this.unread.keys()) {
      // One alone can be larger.
      if (this.total <= MAX_UNREAD || oldest === response) {
        return;
      }
      this.remove(oldest);
      this.onCut();
      oldest.destroy();
    }
  }

  private remove(response: ServerResponse): void {
    this.total -= this.unread.get(response) ?? 0;
    this.unread.delete(response);
  }
}
