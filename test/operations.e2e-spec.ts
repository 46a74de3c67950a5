import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import { generateToken } from '../src/platform/auth/token-format.js';
import { Metrics } from '../src/platform/index.js';
import { dashboard, dashboardQueries, groupingsOf, ruleCases, rules, selectorsOf } from './support/observability-files.js';
import { startMeasured } from './support/scrape.js';
import { testDirectory } from './support/test-database.js';

// What operators read and load is of the metrics that there are, and of no others.

/** A metric in the registry. */
interface Registered {
  name: string;
  type: string;
  labelNames: string[];
}

/** One in the handbook. */
interface Described {
  name: string;
  type: string;
  labels: string[];
}

/** Labels that Prometheus adds to what it scrapes. */
const OF_THE_TARGET = ['namespace', 'job', 'instance'];

const handbook = readFileSync('docs/operations.md', 'utf8');
const alerts = rules().filter(({ alert }) => alert !== undefined);
const recorded = new Set(rules().flatMap(({ record }) => record ?? []));
const headings = [...handbook.matchAll(/^### (\w+)$/gm)].map(([, heading = '']) => heading);

let metrics: Described[];
let scraped: string[];

beforeAll(async () => {
  const path = join(testDirectory(), `operations-${process.pid}`);
  await writeFile(path, `operator:${generateToken()}\n`);
  // With everything that brings metrics of its own. That none of it is there makes no difference to their names.
  const service = await startMeasured({
    AUTH_TOKENS_FILE: path,
    AUTH_JWT_ISSUER: 'https://127.0.0.1:1',
    AUTH_JWT_AUDIENCE: 'items',
    REDIS_URL: 'redis://127.0.0.1:1',
  });
  scraped = [...(await service.scrape()).types.keys()];
  const registered = service.app.get(Metrics).registry.getMetricsAsArray() as unknown as Registered[];
  metrics = registered.map(({ name, type, labelNames }) => ({ name, type, labels: labelNames.toSorted() }));
  await service.stop();
});

it('the handbook describes every metric, and none that there is not', () => {
  const rows = handbook.matchAll(/^\| `([a-z][a-z0-9_]+)` +\| (\w+) +\| ([\w, ]*?) +\| (.+?) +\|$/gm);
  const described = [...rows].map(([, name = '', type = '', labels = '']) => ({
    name,
    type,
    labels: labels.split(', ').filter(Boolean).toSorted(),
  }));
  const byName = (a: Described, b: Described) => a.name.localeCompare(b.name);
  expect(described.toSorted(byName)).toEqual(metrics.toSorted(byName));
  expect(scraped.toSorted()).toEqual(metrics.map(({ name }) => name).toSorted());
});

it('the handbook says of every alert what to do, and of none that there is not', () => {
  expect(headings.filter((heading) => /^Items[A-Z]/.test(heading)).toSorted()).toEqual(
    alerts.map(({ alert }) => alert).toSorted(),
  );
});

it.each(alerts.map((rule) => [rule.alert ?? '', rule] as const))(
  '%s leads to its part of the handbook',
  (name, { labels, annotations }) => {
    expect(labels).toEqual({ severity: expect.stringMatching(/^(?:critical|warning)$/), service: 'items' });
    expect(Object.keys(annotations ?? {})).toEqual(['summary', 'description', 'runbook_url']);
    expect(annotations?.['description']).toMatch(/\{\{/);
    expect(annotations?.['runbook_url']).toBe(`docs/operations.md#${name.toLowerCase()}`);
  },
);

it('a unit test shows of every alert when it fires, and when it does not', () => {
  const cases = ruleCases();
  const fires = new Set(
    cases.flatMap(({ exp_samples: samples }) => samples.map(({ labels }) => /"(\w+)"/.exec(labels)?.[1] ?? '')),
  );
  expect([...fires].toSorted()).toEqual(alerts.map(({ alert }) => alert).toSorted());
  expect(cases.filter(({ exp_samples: samples }) => samples.length === 0).length).toBeGreaterThan(alerts.length);
});

describe.each([
  ['rules', rules().map(({ record, alert, expr }) => ({ title: record ?? alert ?? '', expr }))],
  ['dashboard', dashboardQueries()],
  [
    'handbook',
    [...handbook.matchAll(/`([^`]+)`/g)].map(([, expr = '']) => ({ title: expr, expr })).filter(({ expr }) => /[({]/.test(expr)),
  ],
])('the %s', (_file, queries) => {
  /** What is wrong with an expression. */
  function faultsOf(expr: string): string[] {
    const selectors = selectorsOf(expr).map(({ metric, labels }) => ({ metric, labels, known: labelsOf(metric) }));
    const unknown = selectors.flatMap(({ metric, known }) => (known ? [] : [`there is no ${metric}`]));
    const wrong = selectors.flatMap(({ metric, labels, known = labels }) =>
      labels.filter((label) => !known.includes(label)).map((label) => `${metric} has no label ${label}`),
    );
    const all = new Set(['alertname', ...OF_THE_TARGET, ...selectors.flatMap(({ known = [] }) => known)]);
    const groupings = groupingsOf(expr).filter((label) => !all.has(label));
    return [...unknown, ...wrong, ...groupings.map((label) => `nothing has the label ${label}`)];
  }

  it('asks for metrics and labels that there are', () => {
    expect(queries.length).toBeGreaterThan(10);
    expect(queries.flatMap(({ title, expr }) => faultsOf(expr).map((fault) => `${title}: ${fault}`))).toEqual([]);
  });
});

/** The labels of a metric or of a series of a histogram; undefined where there is none of that name. */
function labelsOf(name: string): string[] | undefined {
  if (recorded.has(name)) return ['namespace'];
  const [, histogram, suffix] = /^(\w+)_(bucket|sum|count)$/.exec(name) ?? [];
  const metric = metrics.find((each) => each.name === name || (each.name === histogram && each.type === 'histogram'));
  return metric && [...OF_THE_TARGET, ...metric.labels, ...(suffix === 'bucket' ? ['le'] : [])];
}

describe('the dashboard', () => {
  const { panels, templating } = dashboard();
  const drawn = panels.filter(({ type }) => type !== 'row');

  it('has panels that explain themselves, of a data source, installation and replica to choose', () => {
    expect(templating.list.map(({ name }) => name)).toEqual(['datasource', 'namespace', 'instance']);
    for (const { title, description, fieldConfig, options, datasource, targets = [] } of drawn) {
      expect([title, description]).toEqual([expect.stringMatching(/^\w.{2,}$/), expect.stringMatching(/^[A-Z0-9].{20,}\.$/)]);
      expect([title, fieldConfig?.defaults.unit ?? options?.yAxis?.unit]).toEqual([title, expect.stringMatching(/./)]);
      expect([title, datasource?.uid]).toEqual([title, '${datasource}']);
      expect(targets.length).toBeGreaterThan(0);
      for (const { expr } of targets) expect([title, expr]).toEqual([title, expect.stringContaining('namespace=~"$namespace"')]);
    }
  });

  it('shows every metric of the service', () => {
    const names = dashboardQueries().flatMap(({ expr }) => selectorsOf(expr).map(({ metric }) => metric));
    const shown = new Set(names.map((name) => name.replace(/_(?:bucket|sum|count)$/, '')));
    const missing = metrics.filter(({ name }) => name.startsWith('items_') && !shown.has(name));
    expect(missing.map(({ name }) => name)).toEqual([]);
  });
});
