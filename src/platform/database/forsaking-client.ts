import { Client } from 'pg';

/**
 * A `pg` client that closes its connection when it gives up on a statement (`query_timeout`). By itself `pg` reports the
 * time-out and keeps the connection, whose next statement then waits behind the one that is never answered: after a
 * network partition that ends in silence, the pool would be full of them.
 */
export class ForsakingClient extends Client {
  /** Takes and gives what `Client.query` does, in all its overloads. */
  override query(...request: never[]): never {
    const result: unknown = super.query(...(request as unknown as Parameters<Client['query']>));
    if (result instanceof Promise) {
      result.catch((error: unknown) => {
        if (Error.isError(error) && error.message === 'Query read timeout') {
          // With a statement under way, this breaks the connection at once, and the pool drops it.
          void this.end();
        }
      });
    }
    return result as never;
  }
}
