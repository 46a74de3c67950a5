import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { freePort } from '../../test/support/free-port.ts';
import { createData } from '../peers/data.ts';
import { kinds } from '../peers/kinds.ts';
import { loadOf } from '../peers/load.ts';
import { choose } from '../peers/options.ts';
import { startServer } from '../peers/server.ts';
import { workloads } from '../peers/workloads.ts';
import { checkWrk, sendLoad } from '../peers/wrk.ts';
import { warmUp } from '../peers/measure.ts';
import { print } from '../print.ts';
import { printFunctions, printLayers } from './report.ts';
import { Profiler } from './profiler.ts';
import { selfTimes } from './self-times.ts';

const REPORTS = fileURLToPath(new URL('../../reports/', import.meta.url));

const { values } = parseArgs({
  options: {
    server: { type: 'string', default: 'ours' },
    workload: { type: 'string', default: 'first page' },
    seconds: { type: 'string', default: '5' },
    functions: { type: 'string', default: '0' },
  },
});
const [kind] = choose('server', kinds, values.server);
const [workload] = choose('workload', workloads, values.workload);
if (!kind || !workload) {
  throw new Error('Name one server and one workload.');
}
await checkWrk();
const data = await createData();
try {
  const port = await freePort();
  const command = [`--inspect=127.0.0.1:${port}`, '--inspect-publish-uid=http', ...(kind.profiled ?? kind.command)];
  const server = await startServer({ ...kind, command }, data.url, data.tokens[0] ?? '', workload.limits);
  try {
    await warmUp(server, workload, data, 10);
    const profiler = await Profiler.attach(port);
    const load = await loadOf(workload, server, data);
    await profiler.start();
    const { requests } = await sendLoad(load, Number(values.seconds));
    const profile = await profiler.stop();
    const file = `${REPORTS}${workload.name.replaceAll(' ', '-')}.cpuprofile`;
    await mkdir(REPORTS, { recursive: true });
    await writeFile(file, JSON.stringify(profile));
    const times = selfTimes(profile);
    printLayers(times, requests);
    printFunctions(times, requests, Number(values.functions));
    print(`The profile is in ${file}: open it in the performance panel of Chromium's developer tools.`);
  } finally {
    await server.stop();
  }
} finally {
  await data.drop();
}
