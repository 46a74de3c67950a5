import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { parse } from 'node:querystring';
import { admit } from './admit.ts';
import type { Item, Items, Page } from './items.ts';
import { logError } from './log.ts';
import { readNewItem } from './new-item.ts';
import { readPageQuery } from './page-query.ts';
import { failed, notFound, type Problem, PROBLEM_TYPE, problemJson } from './problems.ts';
import { readJson } from './read-json.ts';
import { settings } from './settings.ts';

/** Makes JSON of the answers. */
export interface Serialisers<Time> {
  readonly page: (page: Page<Time>) => string;
  readonly item: (item: Item<Time>) => string;
}

interface Answer {
  readonly status: number;
  readonly json: string;
}

const PATH = '/v1/items';

/** The service on node:http alone. */
export function serve<Time>(items: Items<Time>, to: Serialisers<Time>): void {
  const server = createServer((request, response) => {
    const [path = '', search = ''] = (request.url ?? '').split('?', 2);
    answer(request, response, path, search).catch((error: unknown) => {
      logError(error);
      send(response, path, failed);
    });
  });
  server.listen(settings.port, '127.0.0.1');

  async function answer(request: IncomingMessage, response: ServerResponse, path: string, search: string): Promise<void> {
    const { headers, refusal } = await admit(request);
    send(response, path, refusal ?? (await handle(request, path, search)), headers);
  }

  async function handle(request: IncomingMessage, path: string, search: string): Promise<Answer | Problem> {
    if (path === PATH && request.method === 'GET') {
      const query = readPageQuery(parse(search));
      return 'status' in query ? query : { status: 200, json: to.page(await items.findPage(query)) };
    }
    if (path === PATH && request.method === 'POST') {
      const item = readNewItem(await readJson(request));
      return 'status' in item ? item : { status: 201, json: to.item(await items.add(item)) };
    }
    return notFound;
  }
}

function send(
  response: ServerResponse,
  path: string,
  answer: Answer | Problem,
  headers: Readonly<Record<string, string>> = {},
): void {
  const isProblem = 'detail' in answer;
  const json = isProblem ? problemJson(answer, path) : answer.json;
  response.writeHead(answer.status, {
    'Content-Type': isProblem ? PROBLEM_TYPE : 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(json),
    ...headers,
    ...(isProblem && answer.headers),
  });
  response.end(json);
}
