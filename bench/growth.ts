import { encodeCursor } from '#service/platform/lists/cursor';
import { Database } from './database.ts';
import { requestsOf } from './load.ts';
import { backendsOf, countProcessorTime } from './processes.ts';
import { printPromise, printTable } from './report.ts';
import { SERVICE, startServer } from './server.ts';
import { median, shuffle } from './statistics.ts';
import { sendCheckedLoad } from './wrk.ts';

/** Numbers of items at which pages are measured, in ascending order. */
const [, , ...given] = process.argv;
const SIZES = given.length > 0 ? given.map(Number) : [10_000, 1_000_000, 10_000_000];

/** Seconds of a block, after which CPU time is read, and blocks of each page; V8 compiles anew in the first ones. */
const SECONDS = 1;
const WARM_UP = 10;
const BLOCKS = 12;

const PAGE = 20;

/** How many times the first page a deep one may cost at the same size, in CPU time of the service and in time. */
const DEEP = 1.1;

/** Microseconds of a request: CPU time of the service and of PostgreSQL, and from the request to its response. */
type Block = readonly [service: number, postgresql: number, latency: number];

interface Page {
  readonly name: string;
  readonly search: string;
  readonly blocks: Block[];
}

const database = await Database.create();
try {
  const tokens = await database.issueTokens(1);
  const rows: string[][] = [];
  const promises: [string, boolean][] = [];
  for (const size of SIZES) {
    await database.fillTo(size);
    const pages = await measurePages(size, tokens);
    for (const { name, search, blocks } of pages) {
      // Blocks of the same round, as what else the machine does disturbs both alike.
      const ratios = blocks.map((block, round) =>
        block.map((part, index) => part / (pages[0]?.blocks[round]?.[index] ?? NaN)),
      );
      const page = `${size.toLocaleString('en')} items, ${name}`;
      const toFirst = medians(ratios);
      rows.push([page, ...medians(blocks).map((time) => time.toFixed(0)), ...toFirst.map((ratio) => ratio.toFixed(2))]);
      const [service = NaN, , latency = NaN] = toFirst;
      if (search !== '') {
        promises.push([`${page}: within ${DEEP} × the first page`, service <= DEEP && latency <= DEEP]);
      }
    }
  }
  const head = ['page of 20', 'service µs', 'PostgreSQL µs', 'latency µs'];
  printTable([...head, 'service × first', 'PostgreSQL × first', 'latency × first'], rows);
  promises.forEach(([promise, isKept]) => {
    printPromise(promise, isKept);
  });
} finally {
  await database.drop();
}

/** Measures pages of a table of so many items, in turns, one request at a time. */
async function measurePages(size: number, tokens: readonly string[]): Promise<Page[]> {
  const cursorAt = async (depth: number) =>
    `?cursor=${encodeCursor({ id: await database.keyAtDepth(depth), listDigest: '', value: '' }, '')}`;
  const pages: Page[] = [
    { name: 'first', search: '', blocks: [] },
    { name: 'in the middle', search: await cursorAt(size / 2), blocks: [] },
    { name: 'last but one', search: await cursorAt(size - 2 * PAGE), blocks: [] },
  ];
  const server = await startServer(SERVICE, database.url, tokens[0] ?? '');
  try {
    for (let round = 0; round < WARM_UP + BLOCKS; round += 1) {
      for (const { search, blocks } of shuffle(pages)) {
        const service = countProcessorTime([server.pid]);
        const postgresql = countProcessorTime(await backendsOf(database.client));
        const { requests } = await sendCheckedLoad(
          { url: server.url, requests: requestsOf(server.url + search, tokens), connections: 1 },
          SECONDS,
        );
        blocks.push([service() / requests, postgresql() / requests, (SECONDS * 1e6) / requests]);
      }
    }
  } finally {
    await server.stop();
  }
  pages.forEach(({ blocks }) => blocks.splice(0, WARM_UP));
  return pages;
}

/** Of each part, over all blocks. */
function medians(blocks: readonly (readonly number[])[]): number[] {
  return [0, 1, 2].map((part) => median(blocks.map((block) => block[part] ?? NaN)));
}
