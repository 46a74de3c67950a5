import { Client } from 'pg';
import { createDatabase } from '../database.ts';
import { CASES } from './cases.ts';
import { load } from './database.ts';
import { measureDescriptionIndex } from './description-index.ts';
import { measure, type Run } from './measure.ts';
import { Plans } from './plans.ts';
import { print } from '../print.ts';
import { migrate, startService } from '../service.ts';
import { printComparisons, printIndexCost, printPlans, printPromises, printRuns } from './report.ts';

const { url, drop } = await createDatabase();
const client = new Client(url);
try {
  await migrate(url);
  await client.connect();
  await load(client);
  const runs = await overHttp();
  printRuns(runs);
  await inSql();
  printIndexCost(await measureDescriptionIndex(client));
  process.exitCode = printPromises(runs) ? 0 : 1;
} finally {
  await client.end();
  await drop();
}

async function overHttp(): Promise<Run[]> {
  const service = await startService(url);
  try {
    return await measure(CASES, service, client);
  } finally {
    await service.stop();
  }
}

async function inSql(): Promise<void> {
  const plans = await Plans.open(client, url);
  try {
    const comparisons = [];
    for (const trap of CASES.filter((measured) => measured.trap)) {
      comparisons.push({ ...trap, ...(await plans.compare(trap)) });
    }
    printComparisons(comparisons);
    print('## Plans of the statements that the service runs');
    for (const filtered of CASES.filter(({ filter }) => filter !== undefined)) {
      printPlans(filtered, await plans.explain(filtered));
    }
  } finally {
    await plans.close();
  }
}
