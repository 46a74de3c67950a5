import type { Client } from 'pg';
import { encodeCursor } from '#service/platform/lists/cursor';
import { keyAtDepth } from '../lists/database.ts';
import { backendsOf, countProcessorTime } from '../processor-time.ts';
import { startService } from '../service.ts';
import { median, shuffle } from '../statistics.ts';
import { load } from './wrk.ts';

/** Seconds of a block, after which processor time is read, and blocks of each page; V8 compiles anew in the first ones. */
const SECONDS = 1;
const WARM_UP = 10;
const BLOCKS = 12;

const PAGE = 20;

/** Medians of the blocks of a page, and of their ratios to the blocks of the first page next to them. */
export interface Page {
  readonly name: string;
  readonly service: number;
  readonly postgresql: number;
  readonly latency: number;
  readonly serviceToFirst: number;
  readonly postgresqlToFirst: number;
  readonly latencyToFirst: number;
}

/** Microseconds for a request. */
interface Block {
  readonly service: number;
  readonly postgresql: number;
  readonly latency: number;
}

interface Measured {
  readonly name: string;
  readonly search: string;
  readonly blocks: Block[];
}

/** Measures pages of a table of so many items, in turns, one request at a time. */
export async function measurePages(client: Client, url: string, size: number): Promise<Page[]> {
  const cursorAt = async (depth: number) => `cursor=${encodeCursor(await keyAtDepth(client, depth), '')}`;
  const pages: Measured[] = [
    { name: 'first', search: '', blocks: [] },
    { name: 'in the middle', search: await cursorAt(size / 2), blocks: [] },
    { name: 'last but one', search: await cursorAt(size - 2 * PAGE), blocks: [] },
  ];
  const service = await startService(url);
  try {
    for (const { search } of pages) {
      const { body } = await service.list(search);
      if (body.items?.length !== PAGE) {
        throw new Error(`A page had ${body.items?.length} items.`);
      }
    }
    for (let round = 0; round < WARM_UP + BLOCKS; round += 1) {
      for (const { search, blocks } of shuffle(pages)) {
        const counts = [[service.pid], await backendsOf(client)].map(countProcessorTime);
        const requests = await load(service, SECONDS, { search, connections: 1 });
        const [inService = NaN, inPostgresql = NaN] = counts.map((count) => count() / requests);
        blocks.push({ service: inService, postgresql: inPostgresql, latency: (SECONDS * 1e6) / requests });
      }
    }
  } finally {
    await service.stop();
  }
  const counted = pages.map(({ name, blocks }) => ({ name, blocks: blocks.slice(WARM_UP) }));
  const first = counted[0]?.blocks ?? [];
  return counted.map(({ name, blocks }) => summary(name, blocks, first));
}

function summary(name: string, blocks: readonly Block[], first: readonly Block[]): Page {
  const typical = (part: keyof Block) => median(blocks.map((block) => block[part]));
  // Blocks of the same round, as what else the machine does touches both alike.
  const toFirst = (part: keyof Block) => median(blocks.map((block, index) => block[part] / (first[index]?.[part] ?? NaN)));
  return {
    name,
    service: typical('service'),
    postgresql: typical('postgresql'),
    latency: typical('latency'),
    serviceToFirst: toFirst('service'),
    postgresqlToFirst: toFirst('postgresql'),
    latencyToFirst: toFirst('latency'),
  };
}
