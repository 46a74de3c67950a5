import { describeBuild, describeSession, type IndexBuild } from './describe-build.js';

const nothing: Omit<IndexBuild, 'phase'> = {
  lockers_total: 0,
  lockers_done: 0,
  blocks_total: 0,
  blocks_done: 0,
  tuples_total: 0,
  tuples_done: 0,
};

// The phases as PostgreSQL 15 names them.
it.each<[string, Partial<IndexBuild>, string]>([
  ['initializing', {}, 'initializing'],
  ['waiting for writers before build', { lockers_total: 3, lockers_done: 1 }, 'waiting for writers before build, 2 left'],
  ['building index', {}, 'building index'],
  ['building index', { blocks_total: 200, blocks_done: 50 }, 'building index, 25 %'],
  ['building index: scanning table', { blocks_total: 200, blocks_done: 199 }, 'building index: scanning table, 99 %'],
  [
    'building index: loading tuples in tree',
    { blocks_total: 200, blocks_done: 200, tuples_total: 10, tuples_done: 1 },
    'building index: loading tuples in tree, 10 %',
  ],
  ['building index: sorting live tuples', {}, 'building index: sorting live tuples'],
  ['index validation: scanning index', { blocks_total: 2, blocks_done: 1 }, 'index validation: scanning index, 50 %'],
  ['waiting for old snapshots', { lockers_total: 1 }, 'waiting for old snapshots, 1 left'],
])('describes %s %j', (phase, progress, text) => {
  expect(describeBuild({ ...nothing, ...progress, phase }, [])).toBe(text);
});

it.each([
  [{ pid: 1, application: 'psql', state: 'idle in transaction', seconds: 65 }, 'pid 1 (idle in transaction for 1:05, psql)'],
  [{ pid: 1, application: '', state: 'active', seconds: null }, 'pid 1 (active)'],
  [{ pid: 1, application: 'psql', state: null, seconds: null }, 'pid 1 (psql)'],
  [{ pid: 1, application: null, state: null, seconds: null }, 'pid 1'],
])('describes a session: %j', (session, text) => {
  expect(describeSession(session)).toBe(text);
});

it('names those who are waited for', () => {
  const blockers = [1, 2].map((pid) => ({ pid, application: '', state: 'active', seconds: 5 }));
  expect(describeBuild({ ...nothing, phase: 'waiting for old snapshots', lockers_total: 2 }, blockers)).toBe(
    'waiting for old snapshots, 2 left: pid 1 (active for 0:05), pid 2 (active for 0:05)',
  );
});
