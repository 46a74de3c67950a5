// A process that measures one contender and prints what it found as JSON. Arguments: its name, how many keys, and whether they call
// `in turn` or `at random`, in an order that no cache of the processor foresees.
import { usedBytes } from './memory.ts';
import { CONTENDERS, LIMIT } from './contenders.ts';
import { newKey } from './keys.ts';
import { quantile, shuffle } from '../statistics.ts';

/** What {@link ./contender.ts} prints. */
export interface Measured {
  /**
   * Microseconds of processor time for a check: of the rounds in which every key makes one call, a tenth were quicker. The others show
   * more of what else the machine does.
   */
  readonly check: number;
  /** The same, once every call is refused. */
  readonly refusal: number;
  /** Bytes for each key, the key included, after its calls. */
  readonly bytes: number;
  /** Bytes for each of these keys when they have been silent for long, and others have called. */
  readonly afterSilence?: number;
}

const [name = '', keyCount, order] = process.argv.slice(2);
const KEYS = Number(keyCount);
const WARM_UP_KEYS = 1000;

const make = CONTENDERS[name];
if (!make) {
  throw new Error(`There is no contender "${name}".`);
}
const warm = await make();
const warmUpKeys = Array.from({ length: WARM_UP_KEYS }, newKey);
for (let round = 0; round < LIMIT * 3; round += 1) await callAll(warm.check, warmUpKeys);

const contender = await make();
const before = usedBytes();
const keys = Array.from({ length: KEYS }, newKey);
const ordered = order === 'at random' ? shuffle(keys) : [...keys];
const checks = [];
for (let round = 0; round < LIMIT; round += 1) checks.push(await callAll(contender.check, ordered));
const refusals = [];
for (let round = 0; round < 10; round += 1) refusals.push(await callAll(contender.check, ordered));
keys.length = 0;
ordered.length = 0;
const measured: Measured = {
  check: quantile(checks, 0.1),
  refusal: quantile(refusals, 0.1),
  bytes: (usedBytes() - before) / KEYS,
  ...(await afterSilence()),
};
process.stdout.write(JSON.stringify(measured));
process.exit();

async function afterSilence(): Promise<Pick<Measured, 'afterSilence'>> {
  if (!contender.silence) {
    return {};
  }
  contender.silence();
  // Those that are in the measurement from the beginning: they are not what it is about.
  for (let round = 0; round < 10; round += 1) await callAll(contender.check, warmUpKeys);
  contender.silence();
  await callAll(contender.check, warmUpKeys);
  return { afterSilence: (usedBytes() - before) / KEYS };
}

/** @returns microseconds of processor time for each call, garbage collection included */
async function callAll(check: (key: string) => unknown, all: readonly string[]): Promise<number> {
  const start = process.cpuUsage();
  for (const key of all) {
    const answer = check(key);
    if (answer instanceof Promise) {
      await answer;
    }
  }
  const { user, system } = process.cpuUsage(start);
  return (user + system) / all.length;
}
