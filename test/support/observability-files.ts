import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

/** Where operators find them. */
export const RULES = 'deploy/observability/items-service.rules.yaml';
export const RULE_TESTS = 'deploy/observability/items-service.rules.test.yaml';
const DASHBOARD = 'deploy/observability/items-service.dashboard.json';

/** A recording rule or an alert. */
export interface Rule {
  record?: string;
  alert?: string;
  expr: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

/** A panel of the dashboard, as far as tests look at it. */
interface Panel {
  type: string;
  title: string;
  description?: string;
  datasource?: { uid: string };
  fieldConfig?: { defaults: { unit?: string } };
  options?: { yAxis?: { unit?: string } };
  targets?: { expr: string }[];
}

interface Dashboard {
  panels: Panel[];
  templating: { list: { name: string; definition?: string }[] };
  annotations: { list: { expr: string }[] };
}

export function rules(): Rule[] {
  const { groups } = parse(readFileSync(RULES, 'utf8')) as { groups: { rules: Rule[] }[] };
  return groups.flatMap((group) => group.rules);
}

/** The cases of the unit tests of the rules. */
export function ruleCases(): { exp_samples: { labels: string }[] }[] {
  const { tests } = parse(readFileSync(RULE_TESTS, 'utf8')) as { tests: { promql_expr_test: ReturnType<typeof ruleCases> }[] };
  return tests.flatMap((test) => test.promql_expr_test);
}

export function dashboard(): Dashboard {
  return JSON.parse(readFileSync(DASHBOARD, 'utf8')) as Dashboard;
}

/** Every query of the dashboard with what Grafana puts in the place of its variables, by the title of its panel. */
export function dashboardQueries(): { title: string; expr: string }[] {
  const { panels, annotations } = dashboard();
  const ofPanels = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })));
  const ofAnnotations = annotations.list.map(({ expr }) => ({ title: 'annotation', expr }));
  return [...ofPanels, ...ofAnnotations].map(({ title, expr }) => ({
    title,
    expr: expr.replaceAll('$__rate_interval', '1m').replaceAll(/\$(?:namespace|instance)\b/g, '.*'),
  }));
}

/** The metrics that an expression names, each with the labels that it selects by. */
export function selectorsOf(expr: string): { metric: string; labels: string[] }[] {
  const code = expr.replaceAll(/#.*$/gm, '');
  const selectors = code.matchAll(/\b((?:items|nodejs|process|namespace:items)_\w+(?::\w+)*)\b(?:\{([^}]*)\})?/g);
  return [...selectors].map(([, metric = '', matchers = '']) => ({
    metric,
    labels: [...matchers.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label = '']) => label),
  }));
}

/** The labels that an expression groups or joins by. */
export function groupingsOf(expr: string): string[] {
  const lists = expr.matchAll(/\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g);
  return [...lists].flatMap(([, list = '']) => list.split(',').map((label) => label.trim()));
}
