import type { CheckStatus, Finding } from './check.js';

/** The worst comes last. */
const ORDER: readonly CheckStatus[] = ['skipped', 'ok', 'warning', 'failed'];

/** The worst of some statuses; `ok` of none. */
export function worstOf(statuses: readonly CheckStatus[]): CheckStatus {
  return statuses.toSorted((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b)).at(-1) ?? 'ok';
}

/**
 * One finding of several faults.
 *
 * @param otherwise - when there is none
 */
export function allOf(faults: readonly Finding[], otherwise: Finding): Finding {
  const [first, ...others] = faults;
  if (!first || others.length === 0) {
    return first ?? otherwise;
  }
  const remedies = faults.flatMap(({ mend }) => mend ?? []);
  return {
    status: worstOf(faults.map(({ status }) => status)),
    found: faults.map(({ found }) => found).join('\n'),
    ...(remedies.length > 0 && { mend: remedies.join('\n') }),
  };
}
