import type { IncomingMessage } from 'node:http';
import { settings } from './environment.ts';
import { type Problem, rateLimited, unauthorized } from './problems.ts';
import { tokenIdOf } from './tokens.ts';

const { limit, window } = settings;

/** Times of the counted requests of one token, in a ring that grows up to the limit. */
interface Ring {
  times: number[];
  /** Index of the oldest. */
  start: number;
  count: number;
}

interface WindowState {
  readonly isAdmitted: boolean;
  readonly remaining: number;
  /** Whole seconds until a slot comes free. */
  readonly reset: number;
}

export interface Admission {
  /** Of every response. */
  readonly headers: Readonly<Record<string, string>>;
  /** The response to a request that is not admitted. */
  readonly refusal?: Problem;
}

/** Milliseconds. */
const LENGTH = window * 1000;
const rings = new Map<string, Ring>();

/** Admits a request with a valid token that has not used up its requests. */
export async function admit({ headers: { authorization }, socket }: IncomingMessage): Promise<Admission> {
  const tokenId = await tokenIdOf(authorization, socket.remoteAddress ?? '');
  if (tokenId === undefined) {
    return { headers: {}, refusal: unauthorized(authorization !== undefined) };
  }
  const { isAdmitted, remaining, reset } = hit(tokenId);
  const headers = {
    'RateLimit-Policy': `"default";q=${limit};w=${window}`,
    RateLimit: `"default";r=${remaining};t=${reset}`,
  };
  return isAdmitted ? { headers } : { headers, refusal: rateLimited(limit, window, Math.max(1, reset)) };
}

/** Counts a request of a token in an exact sliding window, if there is room for it. */
function hit(tokenId: string): WindowState {
  const now = performance.now();
  const ring = ringOf(tokenId);
  while (ring.count > 0 && at(ring, 0) + LENGTH <= now) {
    ring.start = (ring.start + 1) % ring.times.length;
    ring.count -= 1;
  }
  const isAdmitted = ring.count < limit;
  if (isAdmitted) {
    push(ring, now);
  }
  return { isAdmitted, remaining: limit - ring.count, reset: Math.ceil((at(ring, 0) + LENGTH - now) / 1000) };
}

function ringOf(tokenId: string): Ring {
  let ring = rings.get(tokenId);
  if (!ring) {
    ring = { times: [0], start: 0, count: 0 };
    rings.set(tokenId, ring);
  }
  return ring;
}

function push(ring: Ring, time: number): void {
  if (ring.count === ring.times.length) {
    ring.times = Array.from({ length: ring.count * 2 }, (_, index) => (index < ring.count ? at(ring, index) : 0));
    ring.start = 0;
  }
  ring.times[(ring.start + ring.count) % ring.times.length] = time;
  ring.count += 1;
}

function at(ring: Ring, index: number): number {
  return ring.times[(ring.start + index) % ring.times.length] ?? 0;
}
