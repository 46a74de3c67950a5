import type { INestApplicationContext } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Configuration } from '../config/configuration.js';
import { misspelledVariables, readConfiguration } from '../config/read-configuration.js';
import { Database } from '../database/database.js';
import { reasonOf } from '../errors/describe-error.js';
import { withTimeout } from '../time/duration.js';
import type { Check, Finding } from './check.js';
import { databaseChecks } from './database-checks.js';
import { serviceChecks } from './service-checks.js';

export type CreateContext = (settings: Configuration) => Promise<INestApplicationContext>;

/** The result of a check, with advice unless it is ok. */
export interface Result {
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly found: string;
  readonly advice?: string;
}

export interface Diagnosis {
  /** The worst of the results. */
  readonly status: Result['status'];
  readonly checks: readonly Result[];
}

/** Checks the configuration, then what it names. Connections stay open. @param environmentOf - its error becomes a result */
export async function diagnose(createContext: CreateContext, environmentOf: () => NodeJS.ProcessEnv): Promise<Diagnosis> {
  let app: INestApplicationContext | undefined;
  const run = async () => {
    const settings = readConfiguration(environmentOf());
    app = await createContext(settings);
    const database = app.get(Database);
    // One connection, because the server may have no other left: the checks take turns.
    const open = async (url?: string) => new DataSource({ ...(await database.options(url)), poolSize: 1 }).initialize();
    const misspelled = misspelledVariables(settings);
    const names: Check = {
      name: 'configuration.names',
      advice: 'Correct the names: until then, these variables have no effect.',
      severity: 'warn',
      run: () => ({ fine: misspelled.length === 0, found: misspelled.join(', ') || 'none is misspelled' }),
    };
    return { fine: true, found: 'valid', next: [names, ...serviceChecks(settings), ...databaseChecks(settings, open)] };
  };
  const checks = await examine([{ name: 'configuration', advice: 'docs/configuration.md describes every setting.', run }]);
  await app?.close();
  const status = (['fail', 'warn'] as const).find((worst) => checks.some((check) => check.status === worst)) ?? 'ok';
  return { status, checks };
}

/** Runs checks concurrently, then the checks that depend on those that did not fail. @returns their results in order */
async function examine(checks: readonly Check[]): Promise<Result[]> {
  const results = checks.map(async (check) => {
    const { name, advice } = check;
    const run = withTimeout(10_000, (async () => check.run())());
    const finding = await run.catch((error: unknown): Finding => ({ fine: false, found: reasonOf(error) }));
    const { fine, found, severity = check.severity ?? 'fail', next = [] } = finding;
    // Control characters could change the terminal.
    const text = found.replaceAll(/[^\P{C}\n]/gu, '\u{fffd}');
    const result: Result = { name, status: fine ? 'ok' : severity, found: text, ...(!fine && { advice }) };
    return [result, ...(result.status === 'fail' ? [] : await examine(next))];
  });
  return (await Promise.all(results)).flat();
}
