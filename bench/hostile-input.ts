/** What refused filters and hostile bodies cost: milliseconds to read a filter, and the service's CPU time for a body. */
import * as fc from 'fast-check';
import { itemFilter } from '#service/items/item.filter';
import { type Cost, findCostliest } from '../test/support/fuzz/costliest.ts';
import { hostileBodies } from '../test/support/hostile-body.ts';
import { hostileFilters } from '../test/support/hostile-filter.ts';
import { Database } from './database.ts';
import { countProcessorTime } from './processes.ts';
import { printPromise, printTable } from './report.ts';
import { SERVICE, startServer } from './server.ts';

const seed = Number(process.argv[2] ?? 1);
const FILTER = '(name.startsWith("Blue") || name.startsWith("Red")) && !description.contains("bell")';
const MOST_CREATES = 5;
const CREATE = '{"name":"Blue bicycle","description":"Seven gears, one bell."}';

const filters = hostileFilters(fc.constant(FILTER), ['id', 'name', 'description', 'createdAt']);
const refused = fc.sample(filters, { numRuns: 5000, seed }).filter(isRefused);
const slowest = printCosts('filter', 'a valid one', await findCostliest(refused, FILTER, timeOfFilter));
printPromise('each filter is refused within 5 ms', slowest.time < 5);

const database = await Database.create();
const [token = ''] = await database.issueTokens(1);
const server = await startServer(SERVICE, database.url, token);
const bodies = fc.sample(hostileBodies, { numRuns: 200, seed });
let [costliest, attempts] = [await costliestBody(), 1];
// What a create costs depends on the disk and the batches of that moment.
while (costliest.ratio > MOST_CREATES && attempts < 3) {
  [costliest, attempts] = [await costliestBody(), attempts + 1];
}
printPromise(`no body costs more than ${MOST_CREATES} creates`, costliest.ratio <= MOST_CREATES);
await server.stop();
await database.drop();

function isRefused(filter: string): boolean {
  try {
    itemFilter.parse(filter);
    return false;
  } catch {
    return true;
  }
}

async function costliestBody(): Promise<Cost> {
  return printCosts('body', 'a create', await findCostliest(bodies, CREATE, timeOfBody));
}

function timeOfFilter(filter: string): number {
  const start = performance.now();
  isRefused(filter);
  return performance.now() - start;
}

/** Of 16 requests at once. */
async function timeOfBody(body: string): Promise<number> {
  const init = { method: 'POST', headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }, body };
  const used = countProcessorTime([server.pid]);
  await Promise.all(Array.from({ length: 16 }, async () => (await fetch(server.url, init)).text()));
  return used() / 16 / 1000;
}

/** @returns the costliest */
function printCosts(kind: string, unit: string, costs: readonly Cost[]): Cost {
  const rows = costs.slice(0, 10).map(({ input, time, ratio }) => {
    return [JSON.stringify(input.slice(0, 60)), String(Buffer.byteLength(input)), time.toFixed(2), ratio.toFixed(1)];
  });
  printTable([`The costliest of ${costs.length}: ${kind}`, 'bytes', 'ms', `× ${unit}`], rows);
  return costs[0] ?? { input: '', time: NaN, ratio: NaN };
}
