import { passed, share } from '../progress/figures.js';

/** A session on the server, as `pg_stat_activity` has it; what another role does may be hidden from ours. */
export interface Session {
  readonly pid: number;
  readonly application: string | null;
  /** Like `idle in transaction`. */
  readonly state: string | null;
  /** For how long it has been doing this, or been there. */
  readonly seconds: number | null;
}

/** How far the building of an index is: a row of `pg_stat_progress_create_index`. */
export interface IndexBuild {
  readonly phase: string;
  readonly lockers_total: number;
  readonly lockers_done: number;
  readonly blocks_total: number;
  readonly blocks_done: number;
  readonly tuples_total: number;
  readonly tuples_done: number;
}

/**
 * What a phase of a build has done, and of how much, or for whom it waits (PostgreSQL manual, "CREATE INDEX Progress
 * Reporting"): `waiting for writers before build, 1 left: pid 4711 (idle in transaction for 5:00, psql)`.
 *
 * @param blockers - whose locks it waits for now
 */
export function describeBuild(build: IndexBuild, blockers: readonly Session[]): string {
  const { phase } = build;
  if (phase.startsWith('waiting')) {
    const who = blockers.map(describeSession).join(', ');
    return `${phase}, ${build.lockers_total - build.lockers_done} left${who === '' ? '' : `: ${who}`}`;
  }
  if (phase.includes('tuples')) {
    return withShare(phase, build.tuples_done, build.tuples_total);
  }
  return phase.includes('scanning') || phase.startsWith('building')
    ? withShare(phase, build.blocks_done, build.blocks_total)
    : phase;
}

/** Who it is and what it does: `pid 4711 (idle in transaction for 5:00, psql)`. */
export function describeSession({ pid, application, state, seconds }: Session): string {
  const time = seconds === null ? '' : ` for ${passed(seconds * 1000)}`;
  const details = [`${state ?? ''}${time}`.trim(), application ?? ''].filter((detail) => detail !== '');
  return `pid ${pid}${details.length > 0 ? ` (${details.join(', ')})` : ''}`;
}

/** Some phases do not know their end. */
function withShare(phase: string, count: number, total: number): string {
  return total > 0 ? `${phase}, ${share(count, total)}` : phase;
}
