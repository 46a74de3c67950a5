import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import * as fc from 'fast-check';
import { generateToken } from '#service/platform/auth/token-format';
import { hostileBodies } from '../../support/hostile-body.ts';
import { request } from '../../support/raw-http.ts';
import type { Client, Reply } from '../client.ts';
import type { Fleet } from '../fleet.ts';
import { aboutTimeOf, noteCreate } from './creates.ts';
import { type Behavior, oneOf, type World } from './traffic.ts';

/** Setting of the instances, in seconds. */
export const TOKEN_CACHE_TTL = 5;

/** Kind of the requests of a token that sends more than it may. */
export const GREEDY = 'token beyond its limit';

const BODIES = fc.sample(hostileBodies, 300);
const create = { method: 'POST', path: '/v1/items' };

export const hostile: readonly Behavior[] = [
  {
    kind: 'invented token',
    clients: 2,
    pause: 100,
    act: (client) =>
      client.send(
        { path: '/v1/items', token: oneOf(generateToken, () => 'items_x')(), from: `127.0.0.${oneOf(2, 3, 4, 5, 6)}` },
        [401],
      ),
  },
  {
    kind: GREEDY,
    clients: 2,
    pause: 100,
    act: (client, { tokens }) => client.send({ path: '/v1/items?limit=1', token: tokens.greedy }, [200, 429]),
  },
  // Slow enough for the part of one instance, in the window in which Redis was lost.
  { kind: 'token that is revoked', clients: 1, pause: 2000, act: useRevocable },
  {
    kind: 'body too large',
    clients: 1,
    pause: 400,
    act: (client, { tokens }) =>
      client.send({ ...create, token: tokens.next(), body: `{"name":"${'x'.repeat(70_000)}"}` }, [413]),
  },
  { kind: 'hostile body', clients: 1, pause: 150, act: sendHostileBody },
  { kind: 'slow body', clients: 1, pause: 300, act: sendSlowly },
  { kind: 'half a request', clients: 2, pause: 300, act: sendHalf },
  { kind: 'response not read', clients: 1, pause: 500, act: readNothing },
  { kind: 'list, client leaves', clients: 2, pause: 200, act: leave },
];

function leave(client: Client, { tokens, tally }: World): Promise<Reply> {
  const patience = aboutTimeOf(tally, 'first page');
  return client.send({ path: '/v1/items?limit=100', token: tokens.next(), patience }, [200, 0]);
}

/** Until a token is revoked it is accepted, and after the time of the cache it is not. */
async function useRevocable(client: Client, { tokens, revokedAt }: World): Promise<void> {
  const [token = ''] = tokens.revocable;
  const sent = performance.now();
  const before = revokedAt.get(token) ?? Infinity;
  const isOver = sent > before + TOKEN_CACHE_TTL * 1000;
  const isRevoked = before !== Infinity;
  await client.send({ path: '/v1/items?limit=1', token }, isOver ? [401] : isRevoked ? [200, 401] : [200]);
}

/** One that is refused, and one that is odd and valid. */
async function sendHostileBody(client: Client, { tokens, ledger }: World): Promise<void> {
  const body = oneOf('{"name":', '[]', 'null', '{"name":1}', '{}', '"x"', ...BODIES.filter((text) => !isValid(text)));
  await client.send({ ...create, token: tokens.next(), body }, [400]);
  const name = ledger.newName();
  const odd = JSON.stringify({ description: '\u{1F600}"\\\n'.repeat(200), name });
  noteCreate(ledger, name, await client.send({ ...create, token: tokens.next(), body: odd }, [201], 'create with odd text'));
}

/** A connection to the next instance, whose errors are of no interest. */
function openTo(fleet: Fleet): Socket {
  return connect({ port: fleet.next().port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined);
}

function isValid(body: string): boolean {
  try {
    return typeof (JSON.parse(body) as { name?: unknown } | null)?.name === 'string';
  } catch {
    return false;
  }
}

async function sendSlowly(client: Client, { tokens, ledger }: World): Promise<void> {
  const name = ledger.newName();
  const body = JSON.stringify({ name });
  noteCreate(ledger, name, await client.send({ ...create, token: tokens.next(), body, pause: Math.random() * 2000 }, [201]));
}

/** Disconnects in the head, or in the body. */
async function sendHalf(_client: Client, { fleet, tokens }: World): Promise<void> {
  const text = request(
    'POST /v1/items',
    [`Authorization: Bearer ${tokens.next()}`, 'Content-Type: application/json'],
    '{"name":"half"}',
  );
  const socket = openTo(fleet);
  socket.write(text.slice(0, Math.floor(Math.random() * (text.length - 1))));
  await delay(Math.random() * 300);
  oneOf(
    () => socket.destroy(),
    () => socket.resetAndDestroy(),
    () => socket.end(),
  )();
  await delay(200);
  socket.destroy();
}

/** Asks for many large pages on one connection, and reads none of them. */
async function readNothing(_client: Client, { fleet, tokens }: World): Promise<void> {
  const page = () => `GET /v1/items?limit=100 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${tokens.next()}\r\n\r\n`;
  const socket = openTo(fleet);
  socket.pause();
  socket.write(Array.from({ length: 12 }, page).join(''));
  await delay(1000);
  socket.destroy();
}
