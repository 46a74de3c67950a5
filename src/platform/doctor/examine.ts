import { within } from '../time/within.js';
import { causesOf } from './causes-of.js';
import { type Check, type CheckStatus, failed, type Finding, skipped } from './check.js';
import { worstOf } from './worst-of.js';

/** How long one check may take, in milliseconds. What it needs has ended before, so the whole takes a few times as long at most. */
const LIMIT = 5000;

/** A finding, by the name of its check. */
export type Result = { readonly name: string } & Finding;

/** What all checks came to. */
export interface Report {
  /** The worst that was found. */
  readonly status: Exclude<CheckStatus, 'skipped'>;
  /** In the order of the checks. */
  readonly checks: readonly Result[];
}

/**
 * Runs checks, all at once but for those that need others. It ends, whatever they do.
 *
 * @param tell - makes of what a check says what may be shown
 * @param limit - milliseconds for each
 * @throws Error when two have the same name, or one needs what is not there before it
 */
export async function examine(
  checks: readonly Check[],
  tell: (text: string) => string = String,
  limit: number = LIMIT,
): Promise<Report> {
  const results = new Map<string, Promise<Result>>();
  for (const check of checks) {
    const { name, needs = [] } = check;
    const unknown = needs.find((need) => !results.has(need));
    if (unknown !== undefined || results.has(name)) {
      throw new Error(
        unknown === undefined ? `Two checks are called ${name}.` : `${name} needs ${unknown}: add that one before.`,
      );
    }
    const needed = needs.flatMap((need) => results.get(need) ?? []);
    results.set(
      name,
      findingOf(check, needed, limit).then((finding) => ({ name, ...told(finding, tell) })),
    );
  }
  const found = await Promise.all(results.values());
  const status = worstOf(found.map((result) => result.status));
  return { status: status === 'skipped' ? 'ok' : status, checks: found };
}

async function findingOf(check: Check, needs: readonly Promise<Result>[], limit: number): Promise<Finding> {
  const lacking = (await Promise.all(needs)).find(({ status }) => status === 'failed' || status === 'skipped');
  if (lacking) {
    return skipped(lacking.status === 'failed' ? `${lacking.name} failed` : lacking.found);
  }
  try {
    return await within(
      limit,
      // Also what fails before it waits for anything.
      Promise.resolve().then(() => check.run()),
    );
  } catch (error) {
    return failed(
      causesOf(error).join(': '),
      'This was not expected here: look at what it says, and at the log of whoever was asked.',
    );
  }
}

function told({ status, found, mend }: Finding, tell: (text: string) => string): Finding {
  return { status, found: tell(found), ...(mend !== undefined && { mend: tell(mend) }) };
}
