import { styleText } from 'node:util';
import type { Command } from 'commander';
import { loadEnvironment } from '../config/load-environment.js';
import type { CheckStatus } from './check.js';
import { type CreateContext, diagnose } from './diagnose.js';
import { type Paint, reportText } from './report-text.js';

/** What the command line lends the command. */
export interface CommandLine {
  readonly createContext: CreateContext;
  /** Writes a result. */
  readonly print: (text: string) => void;
}

const COLOURS = { ok: 'green', warning: 'yellow', failed: 'red', skipped: 'dim' } as const satisfies Record<CheckStatus, string>;

/** On a terminal, and only without `NO_COLOR`, which Node sees to. */
const paint: Paint = (status, text) => styleText(COLOURS[status], text, { stream: process.stdout });

/** Makes a command of what is to become `doctor`. */
export function makeDoctorCommand(doctor: Command, { createContext, print }: CommandLine): void {
  doctor
    .description('check the configuration and all that it leads to, and say what to mend; changes nothing')
    .option('--json', 'as JSON, for programs')
    .option('--strict', 'exit with 1 for warnings, too')
    .action(async ({ json = false, strict = false }: { json?: boolean; strict?: boolean }) => {
      const report = await diagnose(loadEnvironment(), createContext);
      print(json ? JSON.stringify(report, null, 2) : reportText(report, paint));
      const isFine = report.status === 'ok' || (report.status === 'warning' && !strict);
      // Whoever did not answer is not waited for.
      process.exit(isFine ? 0 : 1);
    });
}
