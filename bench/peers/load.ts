import type { Data } from './data.ts';
import type { Server } from './server.ts';
import type { Workload } from './workloads.ts';
import type { Load } from './wrk.ts';

interface Page {
  readonly items: readonly object[];
  readonly nextCursor?: string;
}

const PAGE = 100;

/** Cursors of deep pages, which each server makes for itself, by the server. */
const cursors = new WeakMap<Server, string>();

/** The requests of a workload to one server. */
export async function loadOf(workload: Workload, server: Server, data: Data): Promise<Load> {
  const { method = 'GET', body, tokens } = workload;
  return { url: await urlOf(workload, server, data), method, body, tokens: data.files[tokens] };
}

/** Where the requests of a workload go, which for deep pages the server itself has to tell. */
export async function urlOf({ depth, search = '' }: Workload, server: Server, { tokens: [token = ''] }: Data): Promise<string> {
  if (depth === undefined) {
    return search === '' ? server.url : `${server.url}?${search}`;
  }
  const cursor = cursors.get(server) ?? (await walk(server, depth, token));
  cursors.set(server, cursor);
  return `${server.url}?cursor=${cursor}`;
}

/** Follows the pages of a server to the cursor behind so many rows. */
async function walk(server: Server, depth: number, token: string): Promise<string> {
  let cursor = '';
  for (let passed = 0; passed < depth; passed += PAGE) {
    const search = cursor === '' ? '' : `&cursor=${cursor}`;
    const response = await fetch(`${server.url}?limit=${PAGE}${search}`, { headers: { Authorization: `Bearer ${token}` } });
    const page = (await response.json()) as Page;
    if (page.nextCursor === undefined) {
      throw new Error(`The server "${server.kind.name}" has no page behind ${passed} rows.`);
    }
    cursor = page.nextCursor;
  }
  return cursor;
}
