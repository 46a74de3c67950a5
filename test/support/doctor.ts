import { runCli } from './process.js';

/** What `doctor --json` finds, with any free ports. */
export async function doctor(environment: NodeJS.ProcessEnv, ...args: string[]) {
  const { code, stdout, stderr } = await runCli(['doctor', '--json', ...args], { PORT: '0', METRICS_PORT: '0', ...environment });
  const { status, checks } = JSON.parse(stdout) as { status: string; checks: Record<string, string>[] };
  const faults = checks.filter((check) => check['status'] !== 'ok');
  return {
    outcome: [code, status, stderr],
    names: checks.map(({ name = '' }) => name),
    found: Object.fromEntries(checks.map(({ name = '', found = '' }) => [name, found])) as Record<string, string>,
    /** A line for each. */
    faults: faults.map((fault) => `${fault['status']} ${fault['name']}: ${fault['found']} → ${fault['advice']}`).join('\n'),
  };
}

/** Runs code in a process before its own. */
export function preload(code: string): { NODE_OPTIONS: string } {
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(code)}` };
}
