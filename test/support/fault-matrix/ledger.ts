import { randomUUID } from 'node:crypto';
import type { Api } from '../api.js';
import { eventually } from '../eventually.js';
import type { HttpClient, Reply } from '../http-client.js';

interface Entry {
  readonly key: string | undefined;
  readonly description: string | undefined;
  /** Of the item that was acknowledged, once it was. */
  id?: string;
}

let counter = 0;

/** Remembers every create and what became of it, to compare it with what is stored. */
export class Ledger {
  /** Creates that got a second item for their key. */
  readonly doubled: string[] = [];
  private readonly entries = new Map<string, Entry>();

  /** Prepares a create of its own. @param isKeyed - whether it may be repeated */
  add(isKeyed: boolean, description?: string): string {
    const name = `item ${(counter += 1)}`;
    this.entries.set(name, { key: isKeyed ? randomUUID() : undefined, description });
    return name;
  }

  /** The request of a create, which is the same for each repetition. */
  requestOf(name: string) {
    const { key, description } = this.entryOf(name);
    return {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...(key !== undefined && { 'Idempotency-Key': key }) },
      body: JSON.stringify({ name, ...(description !== undefined && { description }) }),
    };
  }

  async send(client: HttpClient, name: string): Promise<Reply> {
    const reply = await client.send('/v1/items', this.requestOf(name));
    this.note(name, reply);
    return reply;
  }

  note(name: string, { status, body }: Pick<Reply, 'status' | 'body'>): void {
    if (status === 201) {
      const entry = this.entryOf(name);
      const { id } = JSON.parse(body) as { id: string };
      if (entry.id !== undefined && entry.id !== id) this.doubled.push(name);
      entry.id ??= id;
    }
  }

  /** Repeats every create with a key until it is acknowledged, as a client does, also of those that were, and reads the whole list. @returns what is wrong */
  async settle(client: HttpClient, api: Api): Promise<string[]> {
    const keyed = [...this.entries].filter(([, { key }]) => key !== undefined);
    for (const [name] of keyed) await eventually(async () => (await this.send(client, name)).status === 201);
    const items = await api.walk({ limit: '100' });
    const stored = Map.groupBy(items, ({ name }) => name);
    const wrong = [...this.entries].flatMap(([name, { key, id }]) => {
      const ids = (stored.get(name) ?? []).map((item) => item.id);
      // Without a key, a create without a response may have been carried out.
      const isRight = id === undefined ? key === undefined && ids.length <= 1 : ids.length === 1 && ids[0] === id;
      return isRight ? [] : [`${name}${key === undefined ? '' : ' with a key'}: acknowledged ${id}, stored ${ids.join()}`];
    });
    return [...this.doubled.map((name) => `${name}: two items for one key`), ...wrong];
  }

  private entryOf(name: string): Entry {
    const entry = this.entries.get(name);
    if (!entry) throw new Error(`${name} is not in the ledger.`);
    return entry;
  }
}
