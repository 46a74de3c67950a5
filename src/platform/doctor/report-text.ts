import type { CheckStatus } from './check.js';
import type { Report, Result } from './examine.js';

const SYMBOLS: Readonly<Record<CheckStatus, string>> = { ok: '✓', warning: '!', failed: '✗', skipped: '-' };

/** Gives a text the colour of a status. */
export type Paint = (status: CheckStatus, text: string) => string;

/**
 * A report for people: a line for each check, and below it what to mend.
 *
 * @param paint - leaves the text as it is where there are no colours
 */
export function reportText({ checks }: Report, paint: Paint): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const lines = checks.flatMap((result) => linesOf(result, width, paint));
  return [...lines, '', summary(checks)].join('\n');
}

function linesOf({ name, status, found, mend }: Result, width: number, paint: Paint): string[] {
  const [first = '', ...others] = found.split('\n');
  const margin = ' '.repeat(width + 4);
  const label = status === 'failed' || status === 'warning' ? `${status}: ` : '';
  return [
    `${paint(status, `${SYMBOLS[status]} ${name.padEnd(width)}`)}  ${paint(status, label)}${first}`,
    ...others.map((line) => margin + line),
    ...(mend?.split('\n').map((line) => `${margin}→ ${line}`) ?? []),
  ];
}

function summary(checks: readonly Result[]): string {
  const statuses: CheckStatus[] = ['ok', 'warning', 'failed', 'skipped'];
  const counts = statuses.map((wanted) => [checks.filter(({ status }) => status === wanted).length, wanted] as const);
  return counts.map(([count, status]) => `${count} ${status === 'warning' && count !== 1 ? 'warnings' : status}`).join(', ');
}
