import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { parse } from 'node:querystring';
import { admit } from '../work/admit.ts';
import { logError, settings } from '../work/environment.ts';
import { readJson, readNewItem, readPageQuery } from '../work/input.ts';
import { type Item, Items, itemSchema, type Page, pageSchema, TIME_AS_TEXT } from '../work/items.ts';
import { failed, notFound, type Problem, PROBLEM_TYPE, problemJson } from '../work/problems.ts';

interface Success {
  readonly status: number;
  readonly json: string;
}

const PATH = '/v1/items';

/** Whether this is the ceiling, with texts for times and compiled serializers, rather than the base. */
const isTuned = process.argv[2] === 'tuned';
const items = isTuned ? new Items(TIME_AS_TEXT) : new Items();
const compile = isTuned ? (await import('fast-json-stringify')).default : undefined;
const pageJson: (page: Page) => string = compile?.(pageSchema) ?? JSON.stringify;
const itemJson: (item: Item) => string = compile?.(itemSchema) ?? JSON.stringify;

const server = createServer((request, response) => {
  const [path = '', search = ''] = (request.url ?? '').split('?', 2);
  respond(request, response, path, search).catch((error: unknown) => {
    logError(error);
    send(response, path, failed);
  });
});
server.listen(settings.port, '127.0.0.1');

async function respond(request: IncomingMessage, response: ServerResponse, path: string, search: string): Promise<void> {
  const { headers, refusal } = await admit(request);
  send(response, path, refusal ?? (await handle(request, path, search)), headers);
}

async function handle(request: IncomingMessage, path: string, search: string): Promise<Success | Problem> {
  if (path === PATH && request.method === 'GET') {
    const query = readPageQuery(parse(search));
    return 'status' in query ? query : { status: 200, json: pageJson(await items.findPage(query)) };
  }
  if (path === PATH && request.method === 'POST') {
    const item = readNewItem(await readJson(request));
    return 'status' in item ? item : { status: 201, json: itemJson(await items.add(item)) };
  }
  return notFound;
}

function send(
  response: ServerResponse,
  path: string,
  result: Success | Problem,
  headers: Readonly<Record<string, string>> = {},
): void {
  const isProblem = 'detail' in result;
  const json = isProblem ? problemJson(result, path) : result.json;
  response.writeHead(result.status, {
    'Content-Type': isProblem ? PROBLEM_TYPE : 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(json),
    ...headers,
    ...(isProblem && result.headers),
  });
  response.end(json);
}
