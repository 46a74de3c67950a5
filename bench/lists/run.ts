import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { DataSource } from 'typeorm';
import { createApp } from '#service/app';
import { Item } from '#service/items/item.entity';
import { ItemDto } from '#service/items/items.dto';
import { readConfiguration } from '#service/platform/config/read-configuration';
import { Database as ServiceDatabase } from '#service/platform/database/database';
import { decodeCursor, encodeCursor, type Position } from '#service/platform/lists/cursor';
import { Lists } from '#service/platform/lists/lists';
import { defineOrder } from '#service/platform/lists/list-options';
import { PageOf } from '#service/platform/lists/page';
import { Database } from '../database.ts';
import { printPromise, printTable, showProgress } from '../report.ts';
import { HIGH_LIMIT, SERVICE, startServer } from '../server.ts';
import { median, quantile, shuffle } from '../statistics.ts';
import { type Case, CASES, ITEMS } from './cases.ts';

/** Requests for each case that are not counted, and that are. */
const WARM_UP = 100;
const COUNTED = 400;

/** Milliseconds from which a case is slow: it is measured after the others, which would be slower in its wake. */
const SLOW = 10;
const COUNTED_IF_SLOW = 20;

const DEPTHS_BY_NAME = [1000, 100_000, 900_000];
const MOST_BY_NAME = 1.3;

/** Statements of each case with {@link Case.sql}. */
const STATEMENTS = 15;

interface Run extends Case {
  readonly search: string;
  /** Numbers of items on the page, or why there is none. */
  readonly outcomes: Set<string>;
  /** Milliseconds of each request. */
  readonly times: number[];
}

const agent = new Agent({ keepAlive: true });
const database = await Database.create();
try {
  await database.fillTo(ITEMS);
  const [token = ''] = await database.issueTokens(1);
  // One token sends all the slow filters.
  const service = await startServer(SERVICE, database.url, token, { ...HIGH_LIMIT, FILTER_BUDGET: '86400' });
  try {
    await report(await measure(service.url, token));
    await reportByName();
  } finally {
    await service.stop();
  }
} finally {
  agent.destroy();
  await database.drop();
}

async function measure(url: string, token: string): Promise<Run[]> {
  const [runs, quick, slow]: [Run[], Run[], Run[]] = [[], [], []];
  for (const measured of CASES) {
    const run: Run = { ...measured, search: await searchOf(measured), outcomes: new Set(), times: [] };
    runs.push(run);
    for (let count = 0; count < 3; count += 1) await list(run, url, token);
    // The quickest shows which kind it is: any single one may have to wait for something else.
    (Math.min(...run.times.splice(0)) > SLOW ? slow : quick).push(run);
  }
  await repeat(quick, WARM_UP + COUNTED, (run) => list(run, url, token));
  quick.forEach(({ times }) => times.splice(0, WARM_UP));
  await repeat(slow, COUNTED_IF_SLOW, (run) => list(run, url, token));
  return runs;
}

async function searchOf({ filter, depth }: Case): Promise<string> {
  const cursor =
    depth === undefined
      ? undefined
      : encodeCursor({ id: await database.keyAtDepth(depth), listDigest: '', value: '' }, filter ?? '');
  return new URLSearchParams({
    ...(filter !== undefined && { filter }),
    ...(cursor !== undefined && { cursor }),
  }).toString();
}

/** In turns and in another order each time, so that what else the machine does disturbs all alike. */
async function repeat<T>(runs: readonly T[], rounds: number, measureOnce: (run: T) => Promise<void>): Promise<void> {
  for (let round = 1; round <= rounds; round += 1) {
    for (const run of shuffle(runs)) await measureOnce(run);
    showProgress('rounds', round, rounds);
  }
}

/** One request, timed until its response is parsed. */
async function list({ search, outcomes, times }: Run, url: string, token: string): Promise<void> {
  const start = performance.now();
  const outgoing = request(`${url}?${search}`, { agent, headers: { Authorization: `Bearer ${token}` } }).end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  const text = Buffer.concat((await response.toArray()) as Buffer[]).toString();
  const { items } = JSON.parse(text) as { readonly items?: readonly unknown[] };
  times.push(performance.now() - start);
  if (!items && !text.includes('takes longer than')) {
    throw new Error(`${search}: ${response.statusCode} ${text}`);
  }
  outcomes.add(items ? String(items.length) : '400, FILTER_TIMEOUT');
}

async function report(runs: readonly Run[]): Promise<void> {
  const firstPage = median(runs[0]?.times ?? []);
  const rows = [];
  for (const { name, outcomes, times, sql } of runs) {
    const typical = median(times);
    const planned = sql === undefined ? '' : ((await timePlanned(sql)) / typical).toFixed(2);
    const figures = [typical, typical / firstPage, quantile(times, 0.99) / typical].map((figure) => figure.toFixed(2));
    rows.push([name, [...outcomes].join(' or '), ...figures, planned]);
  }
  printTable(['case', 'rows', 'median ms', '× first page', 'p99 ÷ median', 'planner alone ÷ service'], rows);
  for (const { name, times, most } of runs) {
    if (most !== undefined) {
      printPromise(`within ${most} × the first page: ${name}`, median(times) / firstPage <= most);
    }
  }
}

/** Pages in the order of the name, read in this process: without HTTP, which would hide a part of a difference. */
async function reportByName(): Promise<void> {
  const order = defineOrder(Item, 'name');
  // Declares that clients see the name.
  PageOf(ItemDto, order);
  const app = await createApp(readConfiguration({ DATABASE_URL: database.url, LOG_LEVEL: 'error' }));
  try {
    await app.init();
    await app.get(ServiceDatabase).started;
    const items = app.get(DataSource).getRepository(Item);
    const find = (after?: Position) =>
      app.get(Lists).findPage(items, { limit: 20, ...(after && { cursor: after }) }, { order });
    const { listDigest = '' } = decodeCursor((await find()).nextCursor ?? '', '') ?? {};
    const runs: { depth: number; times: number[]; after?: Position }[] = [{ depth: 0, times: [] }];
    for (const depth of DEPTHS_BY_NAME) {
      const sql = 'SELECT id, name AS value FROM items ORDER BY name COLLATE "C", id OFFSET $1 LIMIT 1';
      const { rows } = await database.client.query<Omit<Position, 'listDigest'>>(sql, [depth - 1]);
      runs.push(...rows.map((row) => ({ depth, times: [], after: { ...row, listDigest } })));
    }
    await repeat(runs, WARM_UP + COUNTED, async ({ after, times }) => {
      const start = performance.now();
      await find(after);
      times.push(performance.now() - start);
    });
    const [first = 0, ...deep] = runs.map(({ times }) => median(times.slice(WARM_UP)));
    const ratios = deep.map((typical) => typical / first);
    printTable(['by name, × first page'].concat(DEPTHS_BY_NAME.map(String)), [
      ['', ...ratios.map((ratio) => ratio.toFixed(2))],
    ]);
    printPromise(`within ${MOST_BY_NAME} × the first page: pages by name`, Math.max(...ratios) <= MOST_BY_NAME);
  } finally {
    await app.close();
  }
}

/** Median milliseconds of one statement that leaves its plan to PostgreSQL, with the settings of the service. */
async function timePlanned(condition: string): Promise<number> {
  await database.client.query('SET jit = off; SET max_parallel_workers_per_gather = 0');
  const times: number[] = [];
  for (let count = 0; count < STATEMENTS; count += 1) {
    const start = performance.now();
    await database.client.query(`SELECT * FROM items WHERE ${condition} ORDER BY id DESC LIMIT 21`);
    times.push(performance.now() - start);
  }
  return median(times);
}
