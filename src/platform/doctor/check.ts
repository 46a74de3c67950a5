/** The result of a check that ran. */
export interface Finding {
  readonly fine: boolean;
  readonly found: string;
  /** Checks that are possible now. */
  readonly next?: readonly Check[];
}

/** A check of `doctor`. It changes nothing, and its texts contain no secret. */
export interface Check {
  /** Scripts rely on it, so it must not change. */
  readonly name: string;
  readonly advice: string;
  /** `fail`, the default: the service does not work, or loses what it promises; `warn`: it works worse, or will stop working. */
  readonly severity?: 'warn' | 'fail';
  /** An error counts as not fine; so does more than ten seconds. */
  run(): Promise<Finding> | Finding;
}
