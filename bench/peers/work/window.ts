import { settings } from './settings.ts';

/** Times of the counted requests of one token, in a ring that grows up to the limit. */
interface Ring {
  times: number[];
  /** Index of the oldest. */
  start: number;
  count: number;
}

export interface WindowState {
  readonly isAdmitted: boolean;
  readonly remaining: number;
  /** Whole seconds until a slot comes free. */
  readonly reset: number;
}

const LENGTH = settings.window * 1000;
const rings = new Map<string, Ring>();

/** Counts a request of a token in an exact sliding window, if there is room for it. */
export function hit(tokenId: string): WindowState {
  const now = performance.now();
  const ring = ringOf(tokenId);
  while (ring.count > 0 && at(ring, 0) + LENGTH <= now) {
    ring.start = (ring.start + 1) % ring.times.length;
    ring.count -= 1;
  }
  const isAdmitted = ring.count < settings.limit;
  if (isAdmitted) {
    push(ring, now);
  }
  return { isAdmitted, remaining: settings.limit - ring.count, reset: Math.ceil((at(ring, 0) + LENGTH - now) / 1000) };
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
    ring.times = Array.from({ length: ring.count * 2 }, (_, place) => (place < ring.count ? at(ring, place) : 0));
    ring.start = 0;
  }
  ring.times[(ring.start + ring.count) % ring.times.length] = time;
  ring.count += 1;
}

function at(ring: Ring, place: number): number {
  return ring.times[(ring.start + place) % ring.times.length] ?? 0;
}
