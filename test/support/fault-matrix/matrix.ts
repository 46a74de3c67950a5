import { readFileSync } from 'node:fs';

/** The time limits of the services, in seconds. */
export const LIMITS = { connection: 2, statement: 2, shutdown: 15 };

/** Seconds in which a process starts, also on a busy machine. */
const START = 30;

const UNAVAILABLE = LIMITS.connection + LIMITS.statement + 1;

/** What is observed during each fault, with the documented seconds until its outcome. */
const BOUNDS = {
  'First page': UNAVAILABLE,
  Filter: UNAVAILABLE,
  Create: UNAVAILABLE,
  'With a key': UNAVAILABLE + LIMITS.connection,
  'Unknown token': UNAVAILABLE,
  '`/readyz`': 3,
  Start: START + UNAVAILABLE,
  '`migrate`': START + UNAVAILABLE,
  SIGTERM: LIMITS.shutdown,
};

export type Operation = keyof typeof BOUNDS;

export const OPERATIONS = Object.keys(BOUNDS) as Operation[];

/** What happened, and after how many seconds. */
export interface Observed {
  readonly outcome: string;
  readonly seconds: number;
}

/** What one row of the matrix showed. */
export interface RowResult {
  readonly cells: Readonly<Partial<Record<Operation, Observed>>>;
  /** What must not have happened: lost and doubled items, undocumented statuses, errors in the log, no recovery. */
  readonly wrong: readonly string[];
}

/** A failure as the documentation has it, whose rows list all with the same outcomes. */
export interface DocumentedRow {
  readonly fault: string;
  readonly outcomes: Readonly<Record<Operation, string>>;
}

/** The expected outcomes: the table of `docs/operations.md`, whose columns are {@link OPERATIONS}. */
export function documentedMatrix(): DocumentedRow[] {
  const [, table = ''] =
    /^## What clients see during a failure\n.*?\n\n(\|.*?)\n\n/ms.exec(readFileSync('docs/operations.md', 'utf8')) ?? [];
  const [header = [], , ...rows] = table.split('\n').map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  expect(header).toEqual(['Failure', ...OPERATIONS]);
  return rows.flatMap(([faults = '', ...cells]) => {
    const outcomes = Object.fromEntries(OPERATIONS.map((operation, column) => [operation, cells[column] ?? '']));
    return faults.split('; ').map((fault) => ({ fault, outcomes: outcomes as DocumentedRow['outcomes'] }));
  });
}

/** Whether an outcome came within its documented time, twice as much on a busy machine. */
export function isInTime(operation: Operation, { seconds }: Observed): boolean {
  return seconds <= 2 * BOUNDS[operation] + 1;
}

/** The matrix as it was observed, in Markdown. @param faults - the order of its rows */
export function printed(faults: readonly string[], results: ReadonlyMap<string, RowResult>): string {
  const header = ['Failure', ...OPERATIONS, 'Recovers'];
  const lines = faults.map((fault) => {
    const { cells = {}, wrong = ['missing'] } = results.get(fault) ?? {};
    const outcomes = OPERATIONS.map((operation) => {
      const { outcome = '', seconds = NaN } = cells[operation] ?? {};
      return `${outcome} (${seconds.toFixed(1)} s)`;
    });
    return [fault, ...outcomes, wrong.length === 0 ? 'yes' : 'no'];
  });
  const table = [header, header.map(() => '---'), ...lines];
  return table.map((line) => `| ${line.join(' | ')} |\n`).join('');
}
