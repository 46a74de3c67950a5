import { asObject } from './json.js';
import type { Answer } from '../../support/api.js';
import type { FuzzRequest } from './fuzz-request.js';

/** What was created, by the answers alone. */
export class Ledger {
  /** The body of each request that was answered 201, by the path and the id that it got. */
  readonly created = new Map<string, Map<string, object>>();
  private readonly keys = new Map<string, number>();

  /** Before a request is sent. */
  note(request: FuzzRequest): void {
    const key = keyOf(request);
    if (key !== undefined) {
      this.keys.set(key, (this.keys.get(key) ?? 0) + 1);
    }
  }

  /** Whether other requests have had the same key. */
  isReused(request: FuzzRequest): boolean {
    return (this.keys.get(keyOf(request) ?? '') ?? 0) > 1;
  }

  add({ target, body = '' }: FuzzRequest, { status, headers, body: answer }: Answer<unknown>): void {
    if (status === 201 && !headers.has('Idempotent-Replayed')) {
      const [path = ''] = target.split('?');
      const rows = this.created.get(path) ?? new Map<string, object>();
      rows.set(String(asObject(answer)['id']), JSON.parse(new TextDecoder().decode(Buffer.from(body))) as object);
      this.created.set(path, rows);
    }
  }
}

function keyOf({ headers }: FuzzRequest): string | undefined {
  return headers.find(([name]) => name === 'Idempotency-Key')?.[1];
}
