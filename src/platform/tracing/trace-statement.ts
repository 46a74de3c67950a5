import { SpanKind, trace } from '@opentelemetry/api';
import { DatabaseError } from 'pg';
import { SERVICE_NAME } from '../config/configuration.js';
import type { StatementObserver } from '../database/database-metrics.js';
import { currentSpan, failSpan } from './traced.js';

/** Quoted names, parameters, strings, comments and numbers, also unclosed ones (PostgreSQL manual, "Lexical Structure"). */
const LEXEMES =
  /"(?:[^"]|"")*(?:"|$)|\$\d+|(?:\be'(?:[^'\\]|\\.|'')*|'(?:[^']|'')*)(?:'|$)|\$(?<tag>(?:[a-z_]\w*)?)\$.*?(?:\$\k<tag>\$|$)|--[^\n]*|\/\*.*?(?:\*\/|$)|\b\d[\w.]*/gis;

/** Makes a span of each SQL statement of the current request. */
export const traceStatement: StatementObserver = (statement) => {
  if (!currentSpan()) {
    return () => undefined;
  }
  const attributes = describeStatement(statement);
  const options = { kind: SpanKind.CLIENT, attributes };
  const span = trace.getTracer(SERVICE_NAME).startSpan(attributes['db.query.summary'], options);
  return (error) => {
    if (error !== undefined) {
      failSpan(span, error);
      span.setAttribute('db.response.status_code', error instanceof DatabaseError ? error.code : undefined);
    }
    span.end();
  };
};

/** The attributes of a statement, whose text has `?` instead of values and comments. */
export function describeStatement(statement: string) {
  const text = statement.replaceAll(LEXEMES, (lexeme: string) => (/^(?:"|\$\d)/.test(lexeme) ? lexeme : '?'));
  const operation = /[a-z]+/i.exec(text)?.[0].toUpperCase() ?? '';
  const table = /\b(?:from|into|update|table)\s+(?:only\s+)?"?([a-z_]\w*)/i.exec(text)?.[1];
  return {
    'db.system.name': 'postgresql',
    'db.operation.name': operation,
    'db.query.summary': table === undefined ? operation : `${operation} ${table}`,
    'db.query.text': text,
  };
}
