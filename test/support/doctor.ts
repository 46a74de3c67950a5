import { jest } from '@jest/globals';
import { DataSource } from 'typeorm';
import { createContext } from '../../src/app.js';
import { type Diagnosis, diagnose } from '../../src/platform/doctor/diagnose.js';
import { runCli } from './process.js';

/** Any free ports. */
const PORTS = { PORT: '0', METRICS_PORT: '0' };

/** What `doctor --json` prints. */
export async function doctor(environment: NodeJS.ProcessEnv, ...args: string[]) {
  const { code, stdout, stderr } = await runCli(['doctor', '--json', ...args], { ...PORTS, ...environment });
  const diagnosis = JSON.parse(stdout) as Diagnosis;
  return { outcome: [code, diagnosis.status, stderr], ...readable(diagnosis) };
}

const opened = jest.spyOn(DataSource.prototype, 'initialize');

// The command leaves connections to the end of its process.
afterAll(async () => {
  const sources = await Promise.allSettled(opened.mock.results.map(({ value }) => value as Promise<DataSource>));
  const open = sources.flatMap((source) =>
    source.status === 'fulfilled' && source.value.isInitialized ? source.value : [],
  );
  await Promise.all(open.map((source) => source.destroy()));
});

/** What it finds, without a process of its own, which would take ten times as long. */
export async function examined(environment: NodeJS.ProcessEnv) {
  return readable(await diagnose(createContext, () => ({ ...PORTS, LOG_LEVEL: 'silent', ...environment })));
}

function readable({ checks }: Diagnosis) {
  const faults = checks.filter(({ status }) => status !== 'ok');
  return {
    names: checks.map(({ name }) => name),
    found: Object.fromEntries(checks.map(({ name, found }) => [name, found])) as Record<string, string>,
    /** A line for each. */
    faults: faults.map(({ status, name, found, advice }) => `${status} ${name}: ${found} → ${advice}`).join('\n'),
  };
}

/** Runs code in a process before its own. */
export function preload(code: string): { NODE_OPTIONS: string } {
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(code)}` };
}
