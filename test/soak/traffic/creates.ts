import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client, Reply, Request } from '../client.ts';
import type { Ledger } from '../ledger.ts';
import type { Tally } from '../tally.ts';
import type { Behavior, World } from './traffic.ts';

/** Longest time for which a client retries, in milliseconds. */
const PERSISTENCE = 60_000;

export const creates: readonly Behavior[] = [
  { kind: 'create', clients: 3, pause: 150, act: create },
  { kind: 'create with key', clients: 2, pause: 200, act: (client, world) => createWithKey(client, world) },
  { kind: 'create with key, sent twice at once', clients: 1, pause: 500, act: createTwice },
  {
    kind: 'create with key, client leaves',
    clients: 2,
    pause: 400,
    act: (client, world) => createWithKey(client, world, [201, 0]),
  },
  { kind: 'create, client leaves', clients: 1, pause: 400, act: createAndLeave },
];

const requestOf = (name: string) => ({ method: 'POST', path: '/v1/items', body: JSON.stringify({ name }) });

/** Notes what the client knows after a response. */
export function noteCreate(ledger: Ledger, name: string, { status, body }: Reply): void {
  if (status === 201) ledger.note(name, { id: (JSON.parse(body) as { id: string }).id });
  // After 503 an item may have been made, as the documentation says.
  else if (status >= 400 && status < 500) ledger.note(name, 'refused');
}

/** A time in milliseconds in which about half of such requests get their response. */
export function aboutTimeOf(tally: Tally, kind: string): number {
  return Math.random() * 2 * tally.latestTime(kind);
}

async function create(client: Client, { ledger, tokens }: World): Promise<void> {
  const name = ledger.newName();
  noteCreate(ledger, name, await client.send({ ...requestOf(name), token: tokens.next() }, [201]));
}

/** Disconnects about when the item is made. */
async function createAndLeave(client: Client, { ledger, tokens, tally }: World): Promise<void> {
  const name = ledger.newName();
  const patience = aboutTimeOf(tally, 'create');
  noteCreate(ledger, name, await client.send({ ...requestOf(name), token: tokens.next(), patience }, [201, 0]));
}

/** Retries until an item is made. @param first - right outcomes of the first attempt; with 0, the client leaves early */
async function createWithKey(client: Client, world: World, first: readonly number[] = [201]): Promise<void> {
  const { ledger, findings, tally } = world;
  const { name, request } = newKeyed(world);
  const attempt = await client.send(
    { ...request, ...(first.includes(0) && { patience: aboutTimeOf(tally, 'create with key') }) },
    first,
  );
  const reply = await persist(client, request, attempt);
  noteKeyed(ledger, name, reply);
  if (reply.status !== 201 || Math.random() < 0.7) return;
  const replay = await client.send(request, [201], 'replay of a create');
  if (replay.status === 201 && (replay.body !== reply.body || replay.headers['idempotent-replayed'] !== 'true')) {
    findings.push(`a replay of ${name} was another response: ${replay.body} for ${reply.body}`);
  }
  await client.send({ ...request, body: JSON.stringify({ name: `${name}, another` }) }, [422], 'key of another create');
}

/** Two instances get the same request. */
async function createTwice(client: Client, world: World): Promise<void> {
  const { ledger, findings } = world;
  const { name, request } = newKeyed(world);
  const attempts = await Promise.all([client.send(request, [201]), client.send(request, [201])]);
  const replies = await Promise.all(attempts.map((attempt) => persist(client, request, attempt)));
  const made = replies.find(({ status }) => status === 201) ?? replies[0];
  if (made) noteKeyed(ledger, name, made);
  const bodies = new Set(replies.filter(({ status }) => status === 201).map(({ body }) => body));
  if (bodies.size > 1) findings.push(`two requests with one key made ${[...bodies].join()}`);
}

function newKeyed({ ledger, tokens }: World) {
  const name = ledger.newName();
  return { name, request: { ...requestOf(name), token: tokens.next(), headers: { 'Idempotency-Key': randomUUID() } } };
}

/** Sends a request again until an item is made. */
async function persist(client: Client, request: Request, attempt: Reply): Promise<Reply> {
  const deadline = performance.now() + PERSISTENCE;
  let reply = attempt;
  while (reply.status !== 201 && performance.now() < deadline) {
    await delay(50 + Math.random() * 200);
    reply = await client.send(request, [201]);
  }
  return reply;
}

function noteKeyed(ledger: Ledger, name: string, reply: Reply): void {
  noteCreate(ledger, name, reply);
  ledger.keys[reply.status === 201 ? 'acknowledged' : 'unknown'] += 1;
}
