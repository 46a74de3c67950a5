import type { DataSource } from 'typeorm';

/** The result of a check that ran. */
export interface Finding {
  readonly fine: boolean;
  readonly found: string;
  /** Replaces the severity of the check. */
  readonly severity?: Severity;
  /** Checks that depend on this one. */
  readonly next?: readonly Check[];
}

/** `fail`: the service does not work, or breaks a guarantee. `warn`: it works with a disadvantage or a risk. */
export type Severity = 'warn' | 'fail';

/** A check of `doctor`. It changes nothing, and its texts contain no secret. */
export interface Check {
  /** Scripts rely on it, so it must not change. */
  readonly name: string;
  readonly advice: string;
  /** `fail` by default. */
  readonly severity?: Severity;
  /** An error, or more than ten seconds, counts as not fine. */
  run(): Promise<Finding> | Finding;
}

/** Makes checks that select a {@link Finding} with SQL. */
export function selecting(dataSource: DataSource) {
  return (name: string, severity: Severity, advice: string, sql: string, next: readonly Check[] = []): Check => {
    const run = async () => {
      const [finding] = await dataSource.query<Finding[]>(`SELECT ${sql}`);
      return { ...(finding ?? { fine: false, found: 'the server sent no row' }), next };
    };
    return { name: `database.${name}`, severity, advice, run };
  };
}
