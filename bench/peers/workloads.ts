import { type Load, requestsOf } from '../load.ts';
import { HIGH_LIMIT, type Server } from '../server.ts';
import type { Data } from './data.ts';

/** A limit that is used up before the measurement and for all of it. */
const LOW_LIMIT = { RATE_LIMIT: '10', RATE_LIMIT_WINDOW: '3600' };

/** A cache that keeps tokens for less time than it takes to meet them again. */
const SHORT_CACHE = { ...HIGH_LIMIT, TOKEN_CACHE_TTL: '0.1' };

/** Rows before the deep page, and rows of each page on the way to it. */
const DEPTH = 10_000;
const STEP = 100;

export interface Workload {
  readonly name: string;
  readonly status: number;
  /** Of a POST. */
  readonly body?: string;
  /** Whether each request has an `Idempotency-Key`, which only the service heeds. */
  readonly isKeyed?: true;
  /** Query string; `{word}` in it is a number that is another one each time. */
  readonly search?: string;
  /** Rows before the page that is requested. */
  readonly depth?: number;
  readonly tokens: 'tokens' | 'manyTokens' | 'unknownTokens';
  /** Rate limit of the servers, and time for which they remember tokens. */
  readonly limits: typeof HIGH_LIMIT;
}

/** Several kinds of requests that take turns. */
export interface Mix extends Pick<Workload, 'name' | 'limits'> {
  /** Names of workloads, each as often as it occurs. */
  readonly parts: readonly string[];
  /** Share of the base's capacity at which requests come; as fast as each server responds, unless given. */
  readonly share?: number;
}

const usual = { status: 200, tokens: 'tokens', limits: HIGH_LIMIT } as const;
const containing = (word: string) => `filter=name.contains(%22${word}%22)`;
const body = JSON.stringify({ name: 'Blue bicycle', description: 'Seven gears, one bell.' });

export const workloads: readonly Workload[] = [
  { ...usual, name: 'first page' },
  { ...usual, name: 'page of 100', search: 'limit=100' },
  { ...usual, name: 'deep page', depth: DEPTH },
  { ...usual, name: 'filtered page, rare', search: containing('ancient') },
  { ...usual, name: 'filtered page, common', search: containing('bicycle') },
  { ...usual, name: 'filtered page, new words', search: containing('{word}') },
  { ...usual, name: 'create', status: 201, body },
  { ...usual, name: 'create with a key', status: 201, body, isKeyed: true },
  { ...usual, name: 'first page, unknown tokens', tokens: 'manyTokens', limits: SHORT_CACHE },
  { ...usual, name: '401', status: 401, tokens: 'unknownTokens' },
  { ...usual, name: '429', status: 429, limits: LOW_LIMIT },
];

/** Half of it pages, a tenth each of pages of 100, filters, creates, creates with keys, and 401s. */
const PARTS = ['first page; filtered page, common', 'deep page; filtered page, new words'].flatMap((own) =>
  `first page; deep page; page of 100; create; first page; deep page; create with a key; 401; ${own}`.split('; '),
);

const mix = { parts: PARTS, limits: HIGH_LIMIT };

export const mixes: readonly Mix[] = [
  { ...mix, name: 'mixed' },
  { ...mix, name: 'mixed, a fifth of capacity', share: 0.2 },
  { ...mix, name: 'mixed, half of capacity', share: 0.5 },
  { ...mix, name: 'first page, a fifth of capacity', parts: ['first page'], share: 0.2 },
  { ...mix, name: 'first page, half of capacity', parts: ['first page'], share: 0.5 },
];

/** What is measured, in this order. */
export const measured: readonly (Workload | Mix)[] = [...mixes, ...workloads];

/** Those of all that are named, separated by semicolons; all if none is. @throws Error for an unknown name, with the known ones */
export function choose<T extends { readonly name: string }>(
  option: string,
  all: readonly T[],
  chosen?: string,
): readonly T[] {
  const names = chosen?.split(';').map((name) => name.trim());
  const unknown = names?.find((name) => !all.some((one) => one.name === name));
  if (unknown !== undefined) {
    throw new Error(`--${option} does not know "${unknown}": use some of ${all.map(({ name }) => name).join('; ')}.`);
  }
  return all.filter(({ name }) => names?.includes(name) ?? true);
}

/** The requests of a workload to one server. */
export async function loadOf(workload: Workload | Mix, server: Server, data: Data): Promise<Load> {
  const { url } = server;
  if (!('parts' in workload)) {
    const requests = requestsOf(await urlOf(workload, server, data), data[workload.tokens], workload);
    return { url, requests, refused: workload.status >= 400 ? 1 : 0 };
  }
  const loads: Load[] = [];
  for (const part of workload.parts) {
    const [own] = choose('workloads', workloads, part);
    loads.push(...(own ? [await loadOf(own, server, data)] : []));
  }
  // Each with the token of its turn.
  const turns = loads[0]?.requests.map((_request, turn) => loads.flatMap(({ requests }) => requests[turn] ?? [])) ?? [];
  return { url, requests: turns.flat(), refused: loads.reduce((sum, { refused = 0 }) => sum + refused, 0) / loads.length };
}

/** Cursors of the deep page, whose format each server chooses itself. */
const cursors = new WeakMap<Server, string>();

export async function urlOf({ depth, search = '' }: Workload, server: Server, data: Data): Promise<string> {
  if (depth === undefined) {
    return search === '' ? server.url : `${server.url}?${search}`;
  }
  const cursor = cursors.get(server) ?? (await cursorAt(depth, server, data));
  cursors.set(server, cursor);
  return `${server.url}?cursor=${cursor}`;
}

/** Follows the pages of a server to the cursor after so many rows. */
async function cursorAt(depth: number, { name, url }: Server, { tokens: [token = ''] }: Data): Promise<string> {
  let cursor = '';
  for (let passed = 0; passed < depth; passed += STEP) {
    const search = cursor === '' ? '' : `&cursor=${cursor}`;
    const response = await fetch(`${url}?limit=${STEP}${search}`, { headers: { Authorization: `Bearer ${token}` } });
    const { nextCursor } = (await response.json()) as { readonly nextCursor?: string };
    if (nextCursor === undefined) {
      throw new Error(`The server "${name}" has no page after ${passed} rows.`);
    }
    cursor = nextCursor;
  }
  return cursor;
}
