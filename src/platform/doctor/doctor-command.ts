import { styleText } from 'node:util';
import type { Command } from 'commander';
import { loadEnvironment } from '../config/read-configuration.js';
import type { CreateContext, Result } from './diagnose.js';

const COLORS = { ok: 'green', warn: 'yellow', fail: 'red' } as const;

/** Defines the command `doctor`. @param load - loads the application, which the help does not need */
export function makeDoctorCommand(doctor: Command, load: () => Promise<{ createContext: CreateContext }>): void {
  doctor
    .description('check the configuration and dependencies, and suggest fixes; changes nothing')
    .option('--json', 'print JSON instead of lines of text')
    .option('--strict', 'exit with code 1 on warnings, not only on failures')
    .action(async ({ json = false, strict = false }: { json?: boolean; strict?: boolean }) => {
      const [{ createContext }, { diagnose }] = await Promise.all([load(), import('./diagnose.js')]);
      const { status, checks } = await diagnose(createContext, loadEnvironment);
      const isFine = status === 'ok' || (status === 'warn' && !strict);
      process.stdout.write(`${json ? JSON.stringify({ status, checks }, null, 2) : formatResults(checks)}\n`, (error) => {
        // Open connections must not delay the exit.
        process.exit(isFine && !error ? 0 : 1);
      });
    });
}

/** A line for each result, with its advice below. */
function formatResults(results: readonly Result[]): string {
  const width = Math.max(...results.map(({ name }) => name.length));
  const line = ({ name, status, found, advice }: Result) => {
    const text = advice === undefined ? found : `${found}\n→ ${advice}`;
    const indented = text.replaceAll('\n', `\n${' '.repeat(width + 8)}`);
    return `${styleText(COLORS[status], status.padEnd(4))}  ${name.padEnd(width)}  ${indented}`;
  };
  return results.map(line).join('\n');
}
