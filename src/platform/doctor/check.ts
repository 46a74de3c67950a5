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
  readonly advice: string;
  /** `fail`, the default: the service does not work, or loses what it promises; `warn`: it works worse, or not for long. */
  readonly severity?: 'warn' | 'fail';
  /** An error counts as not fine; so does more than ten seconds. */
  run(): Promise<Finding> | Finding;
}
