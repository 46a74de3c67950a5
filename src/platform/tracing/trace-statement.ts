import { LRUCache } from 'lru-cache';
import { DatabaseError } from 'pg';
import type { StatementObserver } from '../database/statement-observers.js';
import { currentSpan } from './current-span.js';
import type { Attributes, OpenSpan } from './span.js';
import { operationOf, summaryOf, withoutValues } from './statement-text.js';

/** What spans say of a statement. */
interface Description {
  readonly summary: string;
  readonly attributes: Attributes;
}

/** Texts of statements, of which there are few but for filters. */
const descriptions = new LRUCache<string, Description>({ max: 500, memoMethod: describe });

/** Makes a span of each SQL statement that is sent for a request. Of an error it tells the code: messages quote values. */
export const traceStatement: StatementObserver = (statement) => {
  const parent = currentSpan();
  if (parent?.isSampled !== true) {
    return () => undefined;
  }
  const { summary, attributes } = descriptions.memo(statement);
  const span = parent.begin(summary, 'client', attributes);
  return (error) => {
    if (error !== undefined) {
      fail(span, error);
    }
    span.end();
  };
};

function describe(statement: string): Description {
  const text = withoutValues(statement);
  const summary = summaryOf(text);
  const attributes = {
    'db.system.name': 'postgresql',
    'db.operation.name': operationOf(text),
    'db.query.summary': summary,
    'db.query.text': text,
  };
  return { summary, attributes };
}

function fail(span: OpenSpan, error: unknown): void {
  const code = Error.isError(error) && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  if (error instanceof DatabaseError) {
    span.set({ 'db.response.status_code': code });
  }
  span.fail(code ?? (Error.isError(error) ? error.name : typeof error));
}
