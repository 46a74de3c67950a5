import { reasonOf } from '../observability/describe-error.js';
import { within } from '../time/duration.js';

/** What a check found. */
export interface Finding {
  readonly fine: boolean;
  readonly found: string;
  /** Checks that are possible now. */
  readonly next?: readonly Check[];
}

/** Something that `doctor` looks at. It changes nothing, and its texts contain no secret. */
export interface Check {
  /** Scripts look for it, so it stays. */
  readonly name: string;
  /** How to fix it. */
  readonly advice: string;
  /** `fail`, the default: the service does not work, or loses what it promises; `warn`: it works worse, or not for long. */
  readonly severity?: 'warn' | 'fail';
  /** An error counts as not fine; so does more than ten seconds. */
  run(): Promise<Finding> | Finding;
}

/** What a check came to, with advice unless it is ok. */
export interface Result {
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly found: string;
  readonly advice?: string;
}

/** Runs checks at once, and then those that these made possible. @returns their results, in order */
export async function examine(checks: readonly Check[]): Promise<Result[]> {
  const results = checks.map(async (check) => {
    const { name, advice, severity = 'fail' } = check;
    const run = within(10_000, (async () => check.run())());
    const finding: Finding = await run.catch((error: unknown) => ({ fine: false, found: reasonOf(error) }));
    // Terminals obey control characters.
    const found = finding.found.replaceAll(/[^\P{C}\n]/gu, '\u{fffd}');
    const result: Result = finding.fine ? { name, status: 'ok', found } : { name, status: severity, found, advice };
    return [result, ...(await examine(finding.next ?? []))];
  });
  return (await Promise.all(results)).flat();
}
