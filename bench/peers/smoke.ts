import { print } from '../print.ts';
import { compileTextbook } from './compile.ts';
import { createData } from './data.ts';
import { kinds as all } from './kinds.ts';
import { startServer } from './server.ts';
import { AMPLE, TIGHT } from './settings.ts';
import { exchange } from './smoke/exchange.ts';
import { differences } from './smoke/differences.ts';
import { workloads } from './workloads.ts';

const kinds = all.filter(({ workloads: some }) => some === undefined);

// Fast answers that are wrong prove nothing: all servers must give those that the service gives.
await compileTextbook();
const data = await createData();
const faults: string[] = [];
try {
  for (const limits of [AMPLE, TIGHT]) {
    const expected = new Map<string, unknown>();
    for (const kind of kinds) {
      const server = await startServer(kind, data.url, data.tokens[0] ?? '', limits);
      try {
        for (const workload of workloads.filter((one) => one.limits === limits)) {
          const answers = await exchange(server, workload, data);
          expected.set(workload.name, expected.get(workload.name) ?? answers);
          faults.push(...differences(server, workload, answers, expected.get(workload.name)));
        }
      } finally {
        await server.stop();
      }
    }
  }
} finally {
  await data.drop();
}
faults.forEach((fault) => {
  print(fault);
});
print(faults.length === 0 ? `All ${kinds.length} servers give the same answers.` : `\n${faults.length} answers differ.`);
process.exitCode = faults.length === 0 ? 0 : 1;
