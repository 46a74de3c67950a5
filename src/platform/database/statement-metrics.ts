import { QueryFailedError } from 'typeorm';
import type { DurationHistogram, EventCounter, Metrics } from '../observability/metrics.js';
import { isAway } from './database-problem.js';
import { QUERY_CANCELED, sqlState } from './sql-state.js';
import type { StatementObserver } from './statement-observers.js';

const OPERATIONS = ['select', 'insert', 'update', 'delete', 'begin', 'commit', 'rollback', 'explain', 'other'] as const;

type Operation = (typeof OPERATIONS)[number];

/** By the first word of a statement, in lower case. */
const BY_WORD: ReadonlyMap<string, Operation> = new Map([
  ...OPERATIONS.map((operation): [string, Operation] => [operation, operation]),
  ['start', 'begin'],
]);

const CAUSES = ['constraint', 'conflict', 'timeout', 'connection', 'other'] as const;

/** Upper bounds of the buckets, in seconds. Most statements take fractions of a millisecond. */
const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Measures every statement, by what it does: the text itself, which clients have a part in, is in no label. */
export class StatementMetrics {
  private readonly durations: DurationHistogram<{ readonly operation: typeof OPERATIONS }>;
  private readonly errors: EventCounter<{ readonly operation: typeof OPERATIONS; readonly cause: typeof CAUSES }>;

  constructor(metrics: Metrics) {
    this.durations = metrics.histogram(
      {
        name: 'items_database_statement_duration_seconds',
        help: 'Time from a SQL statement to its answer or error, by its first word',
        labels: { operation: OPERATIONS },
      },
      BOUNDS,
    );
    this.errors = metrics.counter({
      name: 'items_database_statement_errors_total',
      help: 'SQL statements that failed, by their first word and why',
      labels: { operation: OPERATIONS, cause: CAUSES },
    });
  }

  readonly observe: StatementObserver = (text) => {
    const operation = operationOf(text);
    const start = performance.now();
    return (error) => {
      this.durations.observe({ operation }, (performance.now() - start) / 1000);
      if (error !== undefined) {
        this.errors.inc({ operation, cause: causeOf(error) });
      }
    };
  };
}

function operationOf(text: string): Operation {
  const [, word = ''] = /^\s*([a-z]{5,8})\b/i.exec(text) ?? [];
  return BY_WORD.get(word.toLowerCase()) ?? 'other';
}

/** By the code that PostgreSQL gave the error (PostgreSQL manual, appendix A), or what is known of broken connections. */
function causeOf(error: unknown): (typeof CAUSES)[number] {
  const failure = new QueryFailedError('', [], Error.isError(error) ? error : new Error(String(error)));
  const state = sqlState(failure);
  if (state === QUERY_CANCELED || failure.driverError.message === 'Query read timeout') {
    return 'timeout';
  }
  if (isAway(failure)) {
    return 'connection';
  }
  // Integrity constraint violation; transaction rollback, and a lock that was not to be had in time.
  return state.startsWith('23') ? 'constraint' : /^40|^55P03$/.test(state) ? 'conflict' : 'other';
}
