import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { freePort } from '../../test/support/free-port.ts';
import { createData } from '../peers/data.ts';
import { warmUp } from '../peers/measure.ts';
import { programs } from '../peers/programs.ts';
import { choose, loadOf, measured } from '../peers/workloads.ts';
import { print, printTable } from '../report.ts';
import { startServer } from '../server.ts';
import { sendLoad } from '../wrk.ts';
import { type SelfTime, selfTimes } from './layers.ts';
import { profileDuring } from './profiler.ts';

const REPORTS = fileURLToPath(new URL('../../reports/', import.meta.url));

const { values } = parseArgs({
  options: {
    server: { type: 'string', default: 'ours' },
    workload: { type: 'string', default: 'first page' },
    seconds: { type: 'string', default: '5' },
    functions: { type: 'string', default: '0' },
  },
});
const [program] = choose('server', programs, values.server);
const [workload] = choose('workload', measured, values.workload);
if (!program || !workload) {
  throw new Error('Name one server and one workload.');
}
const data = await createData();
try {
  const port = await freePort();
  const command = [`--inspect=127.0.0.1:${port}`, '--inspect-publish-uid=http', ...program.command];
  const server = await startServer({ ...program, command }, data.url, data.tokens[0] ?? '', workload.limits);
  try {
    await warmUp(server, workload, data, 10);
    const load = await loadOf(workload, server, data);
    const { profile, result } = await profileDuring(port, () => sendLoad(load, Number(values.seconds)));
    const file = `${REPORTS}${workload.name.replaceAll(' ', '-')}.cpuprofile`;
    await mkdir(REPORTS, { recursive: true });
    await writeFile(file, JSON.stringify(profile));
    const times = selfTimes(profile);
    printShares('layer', times, result.requests);
    printShares('name', times, result.requests, Number(values.functions));
    print(`The profile is in ${file}: open it in the performance panel of Chromium's developer tools.`);
  } finally {
    await server.stop();
  }
} finally {
  await data.drop();
}

/** @param count - of rows, those with the most time */
function printShares(by: 'layer' | 'name', times: readonly SelfTime[], requests: number, count = Infinity): void {
  const totals = new Map<string, number>();
  for (const time of times) {
    totals.set(time[by], (totals.get(time[by]) ?? 0) + time.microseconds);
  }
  const all = times.reduce((sum, { microseconds }) => sum + microseconds, 0);
  const rows = [...totals].toSorted(([, a], [, b]) => b - a).slice(0, count);
  if (rows.length > 0) {
    printTable(
      [by === 'layer' ? 'layer' : 'function', 'share of self time', 'µs of a request'],
      [...rows, ['all', all] as const].map(([name, time]) => [
        name,
        `${((time / all) * 100).toFixed(1)} %`,
        (time / requests).toFixed(1),
      ]),
    );
  }
}
