import type { Duplex } from 'node:stream';
import { Client, type ClientBase, type ClientConfig, Query, type QueryConfig, type QueryResult, types } from 'pg';
import { type EntityMetadata, QueryFailedError } from 'typeorm';
import type { PasswordFile } from '../config/password-file.js';
import { traceStatement } from '../tracing/tracing.js';
import { isPasswordRefused, NO_CONNECTION, READ_ONLY, sqlState } from './database-problem.js';
import { type LongSubmittable, submitAlone } from './submittable.js';

/** SQLSTATE of a statement after one that failed, in the same transaction. */
const TRANSACTION_FAILED = '25P02';
const IGNORED =
  'An error of the transaction was ignored: run what may fail in `database.transaction`, which is a savepoint.';

interface ClientMetrics {
  countFailedConnection(error: Error): void;
  /** @returns a function to call when the statement ends */
  observe(text: string): (error: Error | undefined) => void;
}

/** Pool options that `pg` passes on to its clients. */
export interface DatabaseClientConfig extends ClientConfig {
  metrics?: ClientMetrics;
  /** Replaces the password of the URL. */
  passwords?: PasswordFile;
  /** Whether it is the embedded database, which has only one connection. */
  isEmbedded?: boolean;
  /** Whether the connection keeps prepared statements: it is a session of a server, not of a pooler. */
  hasSession?: boolean;
}

const TIMES: ReadonlySet<number> = new Set([types.builtins.DATE, types.builtins.TIMESTAMP, types.builtins.TIMESTAMPTZ]);

/** As in `pg`, but rejects a time in another `DateStyle`, which `pg` reads as null: an expired token would be valid. */
const PARSERS: ClientConfig['types'] = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    const parse = types.getTypeParser(oid, format) as (text: string) => unknown;
    return TIMES.has(oid) ? (text: string) => parse(text) ?? rejectTime(text) : parse;
  }) as typeof types.getTypeParser,
};

function rejectTime(text: string): never {
  throw new Error(`PostgreSQL sent a time as "${text}": set DateStyle to ISO for the role, the database and the pooler.`);
}

/** A `pg` client that measures and traces its statements, and improves the errors of `pg`. */
export class DatabaseClient extends Client {
  readonly config: DatabaseClientConfig;
  private readonly unreadable: unknown;

  constructor(config: DatabaseClientConfig = {}) {
    const unreadable = unreadableOf(config);
    super(unreadable ? {} : { ...config, types: PARSERS });
    this.unreadable = unreadable;
    this.config = config;
    if (config.passwords) {
      // Not among the options, where the URL would override it.
      Object.assign(this, { password: config.passwords.read });
    }
    const { getStartupConf } = this as unknown as { getStartupConf: () => object };
    // Overrides the `DateStyle` of the role or the database. Poolers keep this parameter for each of their clients.
    Object.assign(this, { getStartupConf: () => ({ ...getStartupConf.call(this), DateStyle: 'ISO' }) });
    // An error while the pool hands the connection to TypeORM has no other listener. The next statement fails anyway.
    this.on('error', () => undefined);
  }

  /** Marks connection errors as the database's: `ECONNREFUSED` alone could come from any server. */
  override connect(...[callback]: never[]): never {
    const report = (error: Error | null) => {
      // `pg` replaces the function by the password that it returned, once the server has asked for one.
      const { password } = this as { password?: unknown };
      if (typeof password === 'string' && (!error || isPasswordRefused(error))) {
        this.config.passwords?.note(password, Boolean(error));
      }
      if (error) this.config.metrics?.countFailedConnection(error);
      (callback as unknown as (error: Error | null) => void)(error && new Error(NO_CONNECTION, { cause: error }));
    };
    return (this.unreadable ? process.nextTick(report, this.unreadable) : super.connect(report)) as never;
  }

  override query(...request: never[]): never {
    const [statement] = request as unknown[];
    if (isSubmittable(statement)) {
      submitAlone(this, this.connection, statement, () => super.query(statement));
      return statement as never;
    }
    const text = typeof statement === 'string' ? statement : (statement as { readonly text?: unknown }).text;
    if (typeof text !== 'string' || typeof request.at(-1) === 'function') {
      return super.query(...(request as unknown as Parameters<Client['query']>)) as never;
    }
    const endSpan = traceStatement(text, this.config.isEmbedded ? {} : this);
    const endMeasurement = this.config.metrics?.observe(text);
    return new Promise((resolve, reject) => {
      const settle = (failure: Error | null | undefined, result: QueryResult) => {
        // PostgreSQL responds to the commit of a failed transaction with a rollback, not with an error.
        const isUndone = !failure && text === 'COMMIT' && result.command === 'ROLLBACK';
        const error = isUndone ? new Error(`Nothing was written. ${IGNORED}`) : failure;
        endSpan(error ?? undefined);
        endMeasurement?.(error ?? undefined);
        if (!error) {
          resolve(result);
          return;
        }
        const code = 'code' in error ? error.code : undefined;
        if (code === TRANSACTION_FAILED) error.message += `. ${IGNORED}`;
        // The server has become a replica: a new connection reaches the new primary once the address points to it.
        if (code === READ_ONLY) void this.end();
        reject(error);
      };
      // Without a callback, `pg` creates three promises.
      super.query(...([...request, settle] as unknown as Parameters<Client['query']>));
    }) as never;
  }
}

/** The error of an unreadable certificate in the URL. `connect` reports it: pools expect no error of a constructor. */
function unreadableOf(config: ClientConfig): unknown {
  try {
    return void new Client(config);
  } catch (error) {
    return error;
  }
}

function isSubmittable(statement: unknown): statement is LongSubmittable {
  return typeof statement === 'object' && statement !== null && 'submit' in statement && !(statement instanceof Query);
}

/** A statement that bypasses TypeORM, whose overhead is as large as the database's time. */
export interface Statement {
  readonly text: string;
  readonly values: unknown[];
  /** Name of a prepared statement; undefined to plan the statement for its values. */
  readonly name?: string | undefined;
  /** Whether all its columns are texts, which `pg` need not convert. */
  readonly isText?: boolean;
}

/** Sends a statement. @returns the values of each row, in the order of the columns */
export type Send = (statement: Statement) => Promise<unknown[][]>;

/** The quoted table of an entity, with its schema if it has one. */
export function quotedTable({ tablePath, dataSource: { driver } }: EntityMetadata): string {
  const names = tablePath.split('.').map((name) => driver.escape(name));
  return names.join('.');
}

/** The statement without its name, which PostgreSQL then does not keep as a prepared statement. */
export function unnamed(statement: Statement): Statement {
  return { ...statement, name: undefined };
}

/** Whether a statement failed because it was prepared: it does not exist, exists already, or its table has changed. */
export function failedByName({ name }: Statement, error: unknown): boolean {
  return name !== undefined && /^(?:0A000|26000|42P05)$/.test(sqlState(error));
}

/** The interface between `pg` and its queries, which `pg-cursor` also uses and the types omit. */
const QueryWithHandlers = Query as unknown as new (
  text: string,
  values: unknown[],
) => {
  name: string | undefined;
  handleRowDescription(message: unknown): void;
  handleDataRow(message: { readonly fields: unknown[] }): void;
};

/** Collects rows as they arrive. `pg` copies queries and converts rows, which makes a first page 1.5 times as slow. */
class TextQuery extends QueryWithHandlers {
  readonly texts: unknown[][] = [];

  override handleRowDescription(): void {
    // All columns are text.
  }

  override handleDataRow({ fields }: { readonly fields: unknown[] }): void {
    this.texts.push(fields);
  }
}

/** Sends a statement, prepared under its name if the connection is a session, which keeps it. @throws QueryFailedError */
export async function send(client: ClientBase, { text, values, name: given, isText }: Statement): Promise<unknown[][]> {
  const name = (client as Partial<DatabaseClient>).config?.hasSession ? given : undefined;
  try {
    if (isText) {
      const query = Object.assign(new TextQuery(text, values), { name });
      await client.query(query as unknown as QueryConfig);
      return query.texts;
    }
    const { rows } = await client.query<unknown[]>({ text, values, ...(name !== undefined && { name }), rowMode: 'array' });
    return rows;
  } catch (error) {
    throw new QueryFailedError(text, values, error as Error);
  }
}

/** The socket of a client, which the types of `pg` omit. */
export function streamOf(client: ClientBase): Duplex {
  return (client as unknown as { connection: { stream: Duplex } }).connection.stream;
}
