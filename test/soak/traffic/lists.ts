import { setTimeout as delay } from 'node:timers/promises';
import type { Client, Reply } from '../client.ts';
import type { Stored } from '../ledger.ts';
import { type Behavior, oneOf, type World } from './traffic.ts';

interface Page {
  readonly items: readonly Stored[];
  readonly nextCursor?: string;
}

const LARGEST = 100;

export const lists: readonly Behavior[] = [
  {
    kind: 'first page',
    clients: 3,
    pause: 150,
    act: (client, { tokens }) => {
      return client.send({ path: `/v1/items?limit=${oneOf(1, 20, LARGEST)}`, token: tokens.next() }, [200]);
    },
  },
  { kind: 'page of a walk', clients: 2, pause: 100, act: walkUnderWriters },
];

/** Reads all pages from the first one; a page that is refused in a fault window is asked for again. */
export async function walk(client: Client, { tokens }: World, query: () => string): Promise<Stored[]> {
  const items: Stored[] = [];
  let cursor = '';
  do {
    const reply = await client.send({ path: `/v1/items?${query()}${cursor}`, token: tokens.next() }, [200]);
    if (reply.status !== 200) {
      await delay(200);
      continue;
    }
    const page = pageOf(reply);
    items.push(...page.items);
    await delay(20);
    cursor = page.nextCursor === undefined ? 'last' : `&cursor=${encodeURIComponent(page.nextCursor)}`;
  } while (cursor !== 'last');
  return items;
}

function pageOf({ body }: Reply): Page {
  return JSON.parse(body) as Page;
}

/** A walk sees every item that existed when it began once, whatever others create meanwhile. */
async function walkUnderWriters(client: Client, world: World): Promise<void> {
  const existed = world.ledger.acknowledged;
  const isFiltered = Math.random() < 0.5;
  const filter = isFiltered ? `&filter=${encodeURIComponent(`name.startsWith("${world.ledger.prefix}")`)}` : '';
  const seen = await walk(client, world, () => `limit=${oneOf(LARGEST, LARGEST, 50)}${filter}`);
  const ids = new Set(seen.map(({ id }) => id));
  world.walks.complete += 1;
  const missed = existed.filter((id) => !ids.has(id));
  if (missed.length > 0) world.findings.push(`a walk missed ${missed.length} items, ${missed[0]} among them`);
  if (ids.size < seen.length) world.findings.push(`a walk saw ${seen.length - ids.size} items twice`);
}
