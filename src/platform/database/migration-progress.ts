import { setTimeout as delay } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import { passed } from '../progress/figures.js';
import type { StatusLine } from '../progress/status-line.js';
import { describeBuild, describeSession, type IndexBuild, type Session } from './describe-build.js';

/** Milliseconds between two looks. */
const INTERVAL = 300;

/** How far a session is with the index that it builds, if it does, and whom it waits for. */
const STATEMENT = `
  SELECT phase, lockers_total::float8, lockers_done::float8, blocks_total::float8, blocks_done::float8,
         tuples_total::float8, tuples_done::float8,
         (SELECT coalesce(json_agg(json_build_object(
                   'pid', pid, 'application', application_name, 'state', state,
                   'seconds', extract(epoch FROM clock_timestamp() - xact_start))), '[]')
          FROM pg_stat_activity WHERE pid = ANY(pg_blocking_pids($1))) AS blockers
  FROM (VALUES ($1::int)) AS migrator (pid) LEFT JOIN pg_stat_progress_create_index USING (pid)`;

type Look = (IndexBuild | { phase: null }) & { blockers: readonly Session[] };

/**
 * Shows on a terminal what a migrator does, and what it waits for, which can take longest. It looks at that over a connection
 * of its own; the embedded database has none for it, and then only the time is shown.
 */
export class MigrationProgress {
  private readonly stopping = new AbortController();
  private readonly showing: Promise<void>;
  private observer: DataSource | undefined;
  private isBlind = false;
  private what = '';
  private since: number | undefined;
  /** Of the migrator, on the server; undefined before it begins. */
  private pid: number | undefined;

  /** @param options - of the migrator's data source */
  constructor(
    private readonly line: StatusLine,
    private readonly options: PostgresDataSourceOptions,
  ) {
    this.showing = this.show();
  }

  /** Somebody else applies migrations. @param holder - undefined when that has just ended */
  waiting(holder: Session | undefined): void {
    if (holder) {
      this.since ??= performance.now();
      this.what = `waiting for another migrator, ${describeSession({ ...holder, state: 'connected' })}`;
    }
  }

  /** @param place - among those to apply, from 1. @param pid - of the session on the server */
  applying(migration: string, place: number, count: number, pid: number): void {
    this.pid = pid;
    this.since = performance.now();
    // Without its place in the order, which takes as much of the line as its name.
    this.what = `${place} of ${count} ${migration.replace(/\d{13}$/, '')}`;
  }

  /** Leaves nothing on the terminal, and no connection open. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.showing;
    await this.observer?.destroy().catch(() => undefined);
    this.line.clear();
  }

  private async show(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      // Whatever comes in the way of looking must not come in the way of migrating.
      const details = await this.look().catch(() => []);
      if (this.since !== undefined) {
        this.line.show([`${this.what} ${passed(performance.now() - this.since)}`, ...details].join(' | '));
      }
      await delay(INTERVAL, undefined, { signal }).catch(() => undefined);
    }
  }

  private async look(): Promise<string[]> {
    const { url } = this.options;
    if (url === undefined || this.pid === undefined || this.isBlind) {
      return [];
    }
    // Where there is no connection left, the attempts must not take those that others wait for.
    this.isBlind = this.observer === undefined;
    this.observer ??= await new DataSource({ ...this.options, poolSize: 1, entities: [], migrations: [] }).initialize();
    this.isBlind = false;
    const [look] = await this.observer.query<Look[]>(STATEMENT, [this.pid]);
    if (!look) {
      return [];
    }
    if (look.phase !== null) {
      return [describeBuild(look, look.blockers)];
    }
    return look.blockers.length === 0 ? [] : [`waiting for ${look.blockers.map(describeSession).join(', ')}`];
  }
}
