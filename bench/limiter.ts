/** What the rate limit costs a process: time of a call, and memory of a token, at 100 calls of each of 100,000 tokens. */
import { randomUUID } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { SlidingWindow } from '#service/platform/throttling/sliding-window';
import { printPromise, printTable } from './report.ts';
import { quantile, shuffle } from './statistics.ts';

const LIMIT = 100;
const TOKENS = 100_000;
/** Milliseconds; so long that no call leaves it meanwhile. */
const LENGTH = 3_600_000;

/** Microseconds of processor time for a call, and bytes for a token with all its calls. */
const PROMISES = { call: 2, bytes: 2000 };

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

// Once without counting, for the compiler.
fill(1000);
const { call, bytes } = fill(TOKENS);
printTable(['tokens', 'call, µs', 'token, bytes'], [[String(TOKENS), call.toFixed(2), bytes.toFixed(0)]]);
printPromise(`a call takes at most ${PROMISES.call} µs`, call <= PROMISES.call);
printPromise(`a token takes at most ${PROMISES.bytes} bytes`, bytes <= PROMISES.bytes);

function fill(count: number): { call: number; bytes: number } {
  const window = new SlidingWindow(LENGTH);
  const before = usedBytes();
  // Copies, as a concatenated text takes more memory; in an order that the caches of the processor cannot foresee.
  const tokens = shuffle(Array.from({ length: count }, () => Buffer.from(randomUUID()).toString('latin1')));
  const times = Array.from({ length: LIMIT }, () => {
    const start = process.cpuUsage();
    for (const token of tokens) window.hit(token, LIMIT);
    const { user, system } = process.cpuUsage(start);
    return (user + system) / count;
  });
  const [token = ''] = tokens.splice(0);
  const used = usedBytes() - before;
  if (window.hit(token, LIMIT).admitted) {
    throw new Error('The window admits more than its limit.');
  }
  // A tenth of the rounds were quicker: the others include more of what else the machine does.
  return { call: quantile(times, 0.1), bytes: used / count };
}

/** Of the heap and of arrays outside it, after garbage collection. */
function usedBytes(): number {
  // What the first one frees may keep what the second one frees.
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
