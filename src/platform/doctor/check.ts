/**
 * `failed`: so the service does not work, or loses what it promises. `warning`: it works, but not as well, or not for long.
 * `skipped`: there was nothing to check, or it could not be.
 */
export type CheckStatus = 'ok' | 'warning' | 'failed' | 'skipped';

/** What a check came to. */
export interface Finding {
  readonly status: CheckStatus;
  /** What is so, with its figures; of a check that was skipped, why. */
  readonly found: string;
  /** What to do about it: there is something to do unless the status is `ok` or `skipped`. */
  readonly mend?: string;
}

/**
 * Something that `doctor` looks at. It changes nothing, neither here nor in what it asks, and tells no secret.
 */
export interface Check {
  /** Scripts look for it, so it stays as it is: words in lower case, the concern first, as in `payments.connection`. */
  readonly name: string;
  /** Checks, added before this one, that must not have failed or been skipped for this one to mean something. */
  readonly needs?: readonly string[];
  /** Ends within five seconds, or counts as failed. So does what it throws. */
  run(): Promise<Finding> | Finding;
}

/** The same check, for which others must not have failed or been skipped, either. */
export function needing(needs: readonly string[], check: Check): Check {
  return { name: check.name, needs: [...needs, ...(check.needs ?? [])], run: () => check.run() };
}

export function ok(found: string): Finding {
  return { status: 'ok', found };
}

export function warning(found: string, mend: string): Finding {
  return { status: 'warning', found, mend };
}

export function failed(found: string, mend: string): Finding {
  return { status: 'failed', found, mend };
}

export function skipped(why: string): Finding {
  return { status: 'skipped', found: why };
}
