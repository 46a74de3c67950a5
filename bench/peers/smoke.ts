import { AssertionError, deepStrictEqual } from 'node:assert';
import { print } from '../report.ts';
import { type Server, startServer } from '../server.ts';
import { createData } from './data.ts';
import { compileTextbook, programsIn, PROJECT } from './programs.ts';
import { urlOf, type Workload, workloads } from './workloads.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const CURSOR = /^[\w.~-]{1,512}$/;

/** Rows that are enough for the deep page. */
const ENOUGH = 20_000;

/** Of every response, as far as it has them. */
const HEADERS = ['Content-Type', 'RateLimit-Policy', 'RateLimit', 'Retry-After', 'WWW-Authenticate'];

// Fast responses that are wrong prove nothing: all servers must give those that the service gives.
await compileTextbook();
const programs = programsIn(PROJECT);
const data = await createData(ENOUGH);
let faults = 0;
try {
  for (const limits of new Set(workloads.map((workload) => workload.limits))) {
    const expected = new Map<Workload, unknown>();
    for (const program of programs) {
      const server = await startServer(program, data.url, data.tokens[0] ?? '', limits);
      try {
        for (const workload of workloads.filter((one) => one.limits === limits)) {
          const responses = await exchange(server, workload);
          expected.set(workload, expected.get(workload) ?? responses);
          compare(server, workload, responses, expected.get(workload));
        }
      } finally {
        await server.stop();
      }
    }
  }
} finally {
  await data.drop();
}
print(faults === 0 ? `All ${programs.length} servers give the same responses.` : `\n${faults} responses differ.`);
process.exitCode = faults === 0 ? 0 : 1;

function compare({ name }: Server, workload: Workload, actual: unknown, expected: unknown): void {
  try {
    deepStrictEqual(actual, expected);
  } catch (error) {
    if (!(error instanceof AssertionError)) {
      throw error;
    }
    faults += 1;
    print(`The responses of the server "${name}" to "${workload.name}" differ. ${error.message}`);
  }
}

/** The parts of a response that are compared. */
interface Received {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** The responses of a server to a workload, and to the next page or the list after a create, without what may differ. */
async function exchange(server: Server, workload: Workload): Promise<unknown[]> {
  const { body = null, status, limits } = workload;
  const method = body === null ? 'GET' : 'POST';
  const url = await urlOf(workload, server, data);
  // The first token has been used while the server started.
  const [, token] = data[workload.tokens];
  const headers = { Authorization: `Bearer ${token}`, ...(body !== null && { 'Content-Type': 'application/json' }) };
  const send = async (to: string, options: RequestInit = { method, body }) => read(await fetch(to, { ...options, headers }));
  let response = await send(url);
  // A limit has to be used up first.
  for (let left = Number(limits.RATE_LIMIT); status === 429 && left > 0; left -= 1) {
    response = await send(url);
  }
  if (response.status !== status) {
    throw new Error(
      `The response of the server "${server.name}" to "${workload.name}" is ${response.status}, not ${status}.`,
    );
  }
  const responses = [response];
  const { nextCursor } = JSON.parse(response.text) as { readonly nextCursor?: string };
  if (method === 'POST') {
    responses.push(await send(`${server.url}?limit=1`, {}));
    await data.reset();
  } else if (nextCursor !== undefined) {
    const next = new URL(url);
    next.searchParams.set('cursor', nextCursor);
    responses.push(await send(next.href));
  }
  return responses.map((one) => masked(one, workload));
}

async function read(response: Response): Promise<Received> {
  const headers = Object.fromEntries(HEADERS.map((name) => [name, response.headers.get(name) ?? '']));
  return { status: response.status, headers, text: await response.text() };
}

/** A response in which all that each server makes itself is replaced, provided that it has the right form. */
function masked({ status, headers, text }: Received, { body: sent, limits }: Workload): unknown {
  const window = Number(limits.RATE_LIMIT_WINDOW);
  const seconds = (digits: string) => (/^[1-9]\d*$/.test(digits) && Number(digits) <= window ? '<seconds>' : digits);
  const body: unknown = JSON.parse(text, (name, value: unknown) => {
    if (typeof value !== 'string') {
      return sent !== undefined && isNewItem(value) ? { ...value, id: '<uuid>', createdAt: '<its time>' } : value;
    }
    switch (name) {
      case 'requestId':
        return value.replace(UUID, '<uuid>');
      case 'nextCursor':
        return value.replace(CURSOR, '<cursor>');
      case 'detail':
        return value.replace(/(?<=Retry in )\d+(?= s\.$)/, seconds);
      default:
        return value;
    }
  });
  const { RateLimit = '', 'Retry-After': retryAfter = '' } = headers;
  const times = {
    RateLimit: RateLimit.replace(/(?<=;t=)\d+$/, seconds),
    'Retry-After': retryAfter.replace(/^\d+$/, seconds),
  };
  return { status, headers: { ...headers, ...times }, body };
}

/** Whether a value is an item with the time that is in its id. */
function isNewItem(value: unknown): value is object {
  const { id, createdAt } = (value ?? {}) as { readonly id?: unknown; readonly createdAt?: unknown };
  if (typeof id !== 'string' || !UUID_V7.test(id)) {
    return false;
  }
  return createdAt === new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)).toISOString();
}
