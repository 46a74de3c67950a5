/** A long run: mixed and hostile traffic over several instances while what they depend on fails. See CONTRIBUTING.md. */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { print } from '../../bench/report.ts';
import { auditRateLimit, auditSessions, auditStorage } from './audit.ts';
import { allAnswered } from './client.ts';
import { events, replaceAll, type Surroundings } from './events.ts';
import type { FaultWindows } from './fault-windows.ts';
import { type Comparison, excessOf, type Footprint, footprintOf } from './footprint.ts';
import { MOST_INSTANCES, POOL_SIZE, prepare } from './prepare.ts';
import { printFaults, printFootprints, printOutcomes } from './report.ts';
import type { Instance } from './servers/instance.ts';
import { endAll } from './servers/program.ts';
import { creates } from './traffic/creates.ts';
import { filters } from './traffic/filters.ts';
import { GREEDY, hostile } from './traffic/hostile.ts';
import { lists } from './traffic/lists.ts';
import { probes } from './traffic/probes.ts';
import { Traffic, type World } from './traffic/traffic.ts';

/** Seconds of one round of events, at least. */
const ROUND = 60;

/** Part of the time before the baseline, in which instances are warmed up and replaced. */
const WARM_UP = 0.3;

/** Milliseconds without clients before instances are measured. */
const SETTLING = 3000;

/** Times the length of the run, after which it has failed. */
const OVERDUE = 10;

const BEHAVIORS = [...lists, ...filters, ...creates, ...hostile, ...probes];

/** What the test is about: it is no test without any of these. */
const OUTCOMES = [
  ['first page', 200],
  ['new filter', 200],
  ['create', 201],
  ['create with key, client leaves', 0],
  ['create, client leaves', 0],
  ['replay of a create', 201],
  ['key of another create', 422],
  ['slow body', 201],
  ['body too large', 413],
  ['hostile body', 400],
  ['invented token', 401],
  ['token that is revoked', 401],
  [GREEDY, 429],
] as const;

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '600' }, logs: { type: 'string' } } });
const seconds = Number(values.seconds);
if (!(seconds >= 30)) throw new Error(`--seconds must be a number of at least 30, not ${values.seconds}.`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void endAll().finally(() => process.exit(130)));
}
// Not even on a busy machine does a run take so long.
setTimeout(
  () => {
    print('The run did not end.');
    void endAll().finally(() => process.exit(1));
  },
  OVERDUE * seconds * 1000,
).unref();
try {
  process.exitCode = await soak();
} finally {
  await endAll();
}

async function soak(): Promise<number> {
  const rounds = Math.max(1, Math.floor((seconds * (1 - WARM_UP)) / ROUND));
  const { surroundings, seeded } = await prepare(rounds, values.logs);
  const { world, database } = surroundings;
  let traffic = new Traffic(world, BEHAVIORS);
  const warm = delay(seconds * WARM_UP * 1000);
  await announced('all instances are replaced', replaceAll(world), world);
  await warm;
  await settle(traffic);
  const before = await footprints(world.fleet.instances);
  traffic = new Traffic(world, BEHAVIORS);
  await disturb(surroundings, rounds);
  await settle(traffic);
  const sessions = await auditSessions(surroundings, POOL_SIZE);
  const after = await footprints(world.fleet.instances);
  const storage = await auditStorage(surroundings, seeded);
  await world.fleet.stop();
  database.close();
  const survivors = [...before].flatMap(([instance, first]): Comparison[] => {
    const last = after.get(instance);
    return last ? [[instance.name, first, last]] : [];
  });
  return report(surroundings, survivors, { Sessions: sessions, 'Rows and keys': storage });
}

type Audits = Readonly<Record<string, readonly string[]>>;

/** @returns the exit code */
function report({ world, windows }: Surroundings, survivors: readonly Comparison[], audits: Audits): number {
  const { tally, ledger, walks, fleet, findings } = world;
  printOutcomes(tally, windows);
  printFootprints(survivors);
  print(`Creates: ${ledger.summary}. With keys: ${ledger.keys.acknowledged}. Complete walks: ${walks.complete}.`);
  return printFaults({
    'Outcomes of requests': tally.unexplained(windows),
    'Outcomes that must occur': tally.missing(OUTCOMES).concat(walks.complete > 0 ? [] : 'no walk read all pages'),
    'What clients saw': findings,
    'Rate limit': auditRateLimit(world, MOST_INSTANCES),
    ...audits,
    'Exit codes': fleet.faults,
    'What instances hold': survivors.flatMap(excessOf),
    'Logs outside of faults': alarms(world, windows),
  });
}

/** Lets all events happen, evenly in time. */
async function disturb(surroundings: Surroundings, rounds: number): Promise<void> {
  const pause = (seconds * (1 - WARM_UP) * 1000) / (rounds * events.length);
  for (let round = 0; round < rounds; round += 1) {
    for (const { name, happen } of events) {
      const next = delay(pause);
      await announced(name, happen(surroundings), surroundings.world);
      await next;
    }
  }
}

/** Waits for an event, and prints when it was. One from which the service does not recover is a fault. */
async function announced(name: string, event: Promise<void>, { findings }: World): Promise<void> {
  const begun = performance.now();
  await event.catch((error: unknown) => findings.push(`${name}: ${String(error)}`));
  print(`${(begun / 1000).toFixed(1)}–${(performance.now() / 1000).toFixed(1)} s: ${name}`);
}

async function settle(traffic: Traffic): Promise<void> {
  await traffic.stop();
  await allAnswered();
  await delay(SETTLING);
}

async function footprints(instances: readonly Instance[]): Promise<Map<Instance, Footprint>> {
  const entries = instances.map(async (instance) => [instance, await footprintOf(instance)] as const);
  return new Map(await Promise.all(entries));
}

/** Lines of the logs that say that something is wrong, while nothing was disturbed. */
function alarms({ fleet }: World, windows: FaultWindows): string[] {
  const lines = fleet.all.flatMap(({ name, log }) => log.alarms.map(({ time, line }) => ({ name, time, line })));
  const wrong = lines.filter(({ time }) => !windows.isDisturbed({ sent: time, received: time }));
  return wrong.map(({ name, time, line }) => `at ${(time / 1000).toFixed(1)} s ${name} logs ${line.slice(0, 400)}`);
}
