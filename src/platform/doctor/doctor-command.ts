import { styleText } from 'node:util';
import type { INestApplicationContext } from '@nestjs/common';
import type { Command } from 'commander';
import { DataSource } from 'typeorm';
import type { Configuration } from '../config/configuration.js';
import { loadEnvironment, misspelledVariables, readConfiguration } from '../config/read-configuration.js';
import { Database } from '../database/database.js';
import { reasonOf } from '../observability/describe-error.js';
import { within } from '../time/duration.js';
import type { Check, Finding } from './check.js';
import { databaseChecks } from './database-checks.js';
import { serviceChecks } from './service-checks.js';

type CreateContext = (settings: Configuration) => Promise<INestApplicationContext>;

/** The result of a check, with advice unless it is ok. */
interface Result {
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly found: string;
  readonly advice?: string;
}

const COLORS = { ok: 'green', warn: 'yellow', fail: 'red' } as const;

/** Defines the command `doctor`. */
export function makeDoctorCommand(doctor: Command, createContext: CreateContext): void {
  doctor
    .description('check the configuration and dependencies, and suggest fixes; changes nothing')
    .option('--json', 'print JSON instead of lines of text')
    .option('--strict', 'exit with code 1 on warnings, not only on failures')
    .action(async ({ json = false, strict = false }: { json?: boolean; strict?: boolean }) => {
      const checks = await diagnose(createContext);
      const status = (['fail', 'warn'] as const).find((worst) => checks.some((check) => check.status === worst)) ?? 'ok';
      process.stdout.write(`${json ? JSON.stringify({ status, checks }, null, 2) : textOf(checks)}\n`);
      // Open connections must not delay the exit.
      process.exit(status === 'ok' || (status === 'warn' && !strict) ? 0 : 1);
    });
}

async function diagnose(createContext: CreateContext): Promise<Result[]> {
  let app: INestApplicationContext | undefined;
  const run = async () => {
    const settings = readConfiguration(loadEnvironment());
    app = await createContext(settings);
    const database = app.get(Database);
    const open = async (url?: string) =>
      new DataSource(url === undefined ? await database.options() : database.optionsFor({ url })).initialize();
    const misspelled = misspelledVariables(settings);
    const names: Check = {
      name: 'configuration.names',
      advice: 'Correct the names: until then, these variables have no effect.',
      severity: 'warn',
      run: () => ({ fine: misspelled.length === 0, found: misspelled.join(', ') || 'none is misspelled' }),
    };
    return { fine: true, found: 'valid', next: [names, ...serviceChecks(settings), ...databaseChecks(settings, open)] };
  };
  const results = await examine([{ name: 'configuration', advice: 'docs/operations.md describes every setting.', run }]);
  await app?.close();
  return results;
}

/** Runs checks concurrently, then the checks that depend on those that did not fail. @returns their results in order */
async function examine(checks: readonly Check[]): Promise<Result[]> {
  const results = checks.map(async (check) => {
    const { name, advice, severity = 'fail' } = check;
    const run = within(10_000, (async () => check.run())());
    const { fine, found, next = [] } = await run.catch((error: unknown): Finding => ({ fine: false, found: reasonOf(error) }));
    // Control characters could change the terminal.
    const text = found.replaceAll(/[^\P{C}\n]/gu, '\u{fffd}');
    const result: Result = { name, status: fine ? 'ok' : severity, found: text, ...(!fine && { advice }) };
    return [result, ...(result.status === 'fail' ? [] : await examine(next))];
  });
  return (await Promise.all(results)).flat();
}

/** A line for each result, with its advice below. */
function textOf(results: readonly Result[]): string {
  const width = Math.max(...results.map(({ name }) => name.length));
  const line = ({ name, status, found, advice }: Result) => {
    const text = advice === undefined ? found : `${found}\n→ ${advice}`;
    const indented = text.replaceAll('\n', `\n${' '.repeat(width + 8)}`);
    return `${styleText(COLORS[status], status.padEnd(4))}  ${name.padEnd(width)}  ${indented}`;
  };
  return results.map(line).join('\n');
}
