import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import { generateToken } from '../src/platform/auth/token-format.js';
import { Metrics } from '../src/platform/index.js';
import { dashboardQueries, handbookQueries, rules, selectorsOf, testedAlerts } from './support/observability-files.js';
import { startMeasured } from './support/scrape.js';
import { testDirectory } from './support/test-database.js';

// The handbook, alerts and dashboard use exactly the existing metrics.

/** A metric in the registry, or in the handbook. */
interface Metric {
  name: string;
  type: string;
  labelNames: string[];
}

/** Labels that Prometheus adds to scraped metrics or to buckets. */
const ADDED = ['namespace', 'job', 'instance', 'le'];

const handbook = readFileSync('docs/operations.md', 'utf8');
const alerts = rules().filter(({ alert }) => alert !== undefined);
const recorded = new Set(rules().flatMap(({ record }) => record ?? []));
const nameOf = (metric: string) => metric.replace(/_(?:bucket|sum|count)$/, '');

/** The metrics of a row: `a_{,b_}c` is `a_c` and `a_b_c`. */
function expanded(name: string): string[] {
  const [, before = name, choices, after = ''] = /^(.*)\{(.*)\}(.*)$/.exec(name) ?? [];
  return choices === undefined ? [name] : choices.split(',').map((choice) => before + choice + after);
}

let metrics: Metric[];
let scraped: string[];

beforeAll(async () => {
  const path = join(testDirectory(), `operations-${process.pid}`);
  await writeFile(path, `operator:${generateToken()}\n`);
  // With all settings that add metrics. None of these servers needs to exist, because only the names count.
  const service = await startMeasured({
    AUTH_TOKENS_FILE: path,
    AUTH_JWT_ISSUER: 'https://127.0.0.1:1',
    AUTH_JWT_AUDIENCE: 'items',
    REDIS_URL: 'redis://127.0.0.1:1',
  });
  scraped = [...(await service.scrape()).types.keys()];
  metrics = service.app.get(Metrics).registry.getMetricsAsArray() as unknown as Metric[];
  await service.stop();
});

it('the handbook describes exactly the existing metrics', () => {
  const rows = [...handbook.matchAll(/^\| `([a-z][a-z0-9_{},]+)` +\| (\w+) +\| ([\w, ]*?) +\| (.+?) +\|$/gm)];
  const described = rows.flatMap(([, name = '', type = '', labels = '']) =>
    expanded(name).map((each) => [each, type, labels.split(', ').toSorted().join()]),
  );
  const registered = metrics.map(({ name, type, labelNames }) => [name, type, labelNames.toSorted().join()]);
  expect(described.toSorted()).toEqual(registered.toSorted());
  expect(scraped.toSorted()).toEqual(metrics.map(({ name }) => name).toSorted());
});

it('every alert has a severity, a link to its part of the handbook, and a unit test that fires it', () => {
  const headings = [...handbook.matchAll(/^### (Items\w+)$/gm)].map(([, heading]) => heading);
  const names = alerts.map(({ alert = '' }) => alert);
  expect(headings.toSorted()).toEqual(names.toSorted());
  expect([...testedAlerts()].toSorted()).toEqual(names.toSorted());
  for (const { alert = '', labels, annotations } of alerts) {
    expect(labels).toEqual({ severity: expect.stringMatching(/^(?:critical|warning)$/), service: 'items' });
    const runbook = `docs/operations.md#${alert.toLowerCase()}`;
    const texts = { summary: expect.any(String), description: expect.stringContaining('{{') };
    expect(annotations).toEqual({ ...texts, runbook_url: runbook });
  }
});

it('every part of the handbook has the severity of its alert, and how long its condition holds', () => {
  const parts = [...handbook.matchAll(/^### (Items\w+)\n\n_(Critical|Warning), (\d+) (s|min): [^_]+_(?: |$)/gm)];
  const stated = parts.map(([, alert, severity = '', time, unit]) => [
    alert,
    severity.toLowerCase(),
    `${time}${unit?.charAt(0)}`,
  ]);
  const expected = alerts.map(({ alert, labels, for: time = '0s' }) => [alert, labels?.['severity'], time]);
  expect(stated.toSorted()).toEqual(expected.toSorted());
});

it.each([
  ['rules', rules().map(({ record, alert, expr }) => ({ title: record ?? alert, expr }))],
  ['dashboard', dashboardQueries()],
  ['handbook', handbookQueries()],
])('the %s uses existing metrics and labels', (_file, queries) => {
  const faultsOf = (expr: string) =>
    selectorsOf(expr).flatMap(({ metric, labels }) => {
      const found = metrics.find(({ name, type }) => name === (type === 'histogram' ? nameOf(metric) : metric));
      const known = new Set([...ADDED, ...(found?.labelNames ?? [])]);
      const unknown = labels.filter((label) => !known.has(label)).map((label) => `${metric} has no label ${label}`);
      return found || recorded.has(metric) ? unknown : [`there is no ${metric}`];
    });
  expect(queries.length).toBeGreaterThan(10);
  expect(queries.flatMap(({ title, expr }) => faultsOf(expr).map((fault) => `${title}: ${fault}`))).toEqual([]);
});

it('the dashboard shows every metric of the service, for the selected installation', () => {
  const shown = new Set(dashboardQueries().flatMap(({ expr }) => selectorsOf(expr).map(({ metric }) => nameOf(metric))));
  const missing = metrics.filter(({ name }) => name.startsWith('items_') && !shown.has(name));
  expect(missing.map(({ name }) => name)).toEqual([]);
  for (const { title, expr } of dashboardQueries()) {
    expect([title, expr]).toEqual([title, expect.stringContaining('namespace=~".*"')]);
  }
});

it('commands for pods name the namespace, and those for the log of all pods read all of it, with the name of each pod', () => {
  const texts = ['docs/operations.md', 'deploy/kubernetes/README.md', 'deploy/observability/README.md'].map((path) =>
    readFileSync(path, 'utf8'),
  );
  const commands = texts.flatMap((text) => [...text.matchAll(/\bkubectl [^`\n#]+/g)].map(([command]) => command));
  const ofPods = commands.filter((command) => /\b(?:logs|describe|exec|get pods|delete|rollout)\b/.test(command));
  expect(ofPods.length).toBeGreaterThan(5);
  expect(ofPods.filter((command) => !/ (?:-n items\b|-A )/.test(command))).toEqual([]);
  const logs = ofPods.filter((command) => / logs .*-l /.test(command));
  expect(logs.length).toBeGreaterThan(0);
  expect(logs.filter((command) => !/ --tail=-1 .*--prefix/.test(command))).toEqual([]);
});
