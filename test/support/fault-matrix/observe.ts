import { once } from 'node:events';
import { type ClientRequest, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Outcome } from '../child.js';
import { answerTo, HttpClient, type Reply } from '../http-client.js';
import type { ServiceProcess } from '../process.js';
import { type Observed, type Operation, OPERATIONS, type RowResult } from './matrix.js';
import type { Row } from './rows.js';

/** How often an impatient client sends a create with one key at the same time. */
const REPETITIONS = 10;

/** Milliseconds that the beginning of a request may take. */
const CONTINUE = 10_000;

/** Observes all operations during a fault, at the same time. */
export async function observe(row: Row): Promise<RowResult['cells']> {
  const { survivor, ledger, description } = row;
  const client = new HttpClient(survivor.origin, row.token, true);
  const [plain, keyed] = [ledger.add(false, description), ledger.add(true, description)];
  const observations: Record<Operation, () => Promise<string>> = {
    'First page': async () => outcomeOf(await client.list()),
    Filter: async () => outcomeOf(await client.list('filter=name+==+"x"')),
    Create: async () => outcomeOf(await ledger.send(client, plain)),
    'With a key': async () => {
      const replies = await Promise.all(Array.from({ length: REPETITIONS }, () => ledger.send(client, keyed)));
      const [first = '', ...others] = replies.map(outcomeOf);
      // A repetition may come too late to wait for the first, or be the one that is carried out.
      return others.find((outcome) => outcome !== '201' && outcome !== '503') ?? first;
    },
    'Unknown token': async () => outcomeOf(await new HttpClient(survivor.origin, row.unknownToken, false).list()),
    '`/readyz`': async () => String((await client.send('/readyz')).status),
    Start: () => startOf(row.arriving),
    '`migrate`': async () => migrationOf(await row.migrate().ended),
    SIGTERM: () => shutdownOf(row),
  };
  const cells = OPERATIONS.map(async (operation) => [operation, await timed(observations[operation])] as const);
  return Object.fromEntries(await Promise.all(cells));
}

async function timed(run: () => Promise<string>): Promise<Observed> {
  const start = performance.now();
  const outcome = await run().catch((error: unknown) => `none: ${String(error)}`);
  return { outcome, seconds: (performance.now() - start) / 1000 };
}

/** The status, of a 503 only if a client knows when to retry and learns nothing of the cause. */
function outcomeOf({ status, headers, body }: Pick<Reply, 'status' | 'headers' | 'body'>): string {
  const isProper = Number(headers['retry-after']) > 0 && !/ECONN|EAI_|postgres|127\.0\.0\.1|\.test|timeout/i.test(body);
  return status === 503 && !isProper ? `503: ${body}` : String(status);
}

/** Waits until a process is ready, or has found that it cannot be, and is alive all the same. */
async function startOf(process: ServiceProcess): Promise<string> {
  await process.becomes(() => process.has('Listening on '));
  const statusOf = async (path: string) => (await fetch(`${process.origin}${path}`)).status;
  const isReady = async () => (await statusOf('/readyz')) === 200;
  // On a busy machine, the first attempt may take longer than a connection may.
  await process.becomes(async () => process.linesOf('database not ready').length > 1 || (await isReady()));
  const outcome = (await isReady()) ? 'ready' : 'waits';
  const alive = await statusOf('/livez');
  return alive === 200 ? outcome : `/livez ${alive}`;
}

/** The exit code. A failure tells an operator the reason, without a stack. */
function migrationOf({ code, stderr }: Outcome): string {
  const reasons = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
  const isTold = reasons.length > 0 && !/^ +at /m.test(stderr);
  return code === 0 || isTold ? String(code) : `${code}: ${stderr}`;
}

/** Ends a process that has begun a create. @returns the response and the exit code */
async function shutdownOf({ leaving, ledger, token, description }: Row): Promise<string> {
  const name = ledger.add(false, description);
  const { body, headers, method } = ledger.requestOf(name);
  const length = { Expect: '100-continue', 'Content-Length': Buffer.byteLength(body) };
  const fields = { ...headers, ...length, Authorization: `Bearer ${token}` };
  const outgoing = request(`${leaving.origin}/v1/items`, { method, headers: fields, agent: false });
  const answered = answerTo(outgoing);
  outgoing.flushHeaders();
  const [{ response, body: text }, code] = await Promise.all([answered, endAfter(outgoing, body, leaving)]);
  const reply = { status: response.statusCode ?? 0, headers: response.headers, body: text };
  ledger.note(name, reply);
  return `${outcomeOf(reply)}, ${code}`;
}

async function endAfter(outgoing: ClientRequest, body: string, process: ServiceProcess): Promise<number | null> {
  await Promise.race([once(outgoing, 'continue'), once(outgoing, 'response'), delay(CONTINUE, undefined, { ref: false })]);
  const ended = process.end('SIGTERM');
  outgoing.end(body);
  return ended;
}
