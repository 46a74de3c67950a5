import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

/** Where operators find them. */
export const RULES = 'deploy/observability/items-service.rules.yaml';
export const RULE_TESTS = 'deploy/observability/items-service.rules.test.yaml';
const DASHBOARD = 'deploy/observability/items-service.dashboard.json';

/** A recording rule or an alert. */
interface Rule {
  record?: string;
  alert?: string;
  expr: string;
  for?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

interface Dashboard {
  panels: { title: string; targets?: { expr: string }[] }[];
  annotations: { list: { expr: string }[] };
}

export function rules(): Rule[] {
  const { groups } = parse(readFileSync(RULES, 'utf8')) as { groups: { rules: Rule[] }[] };
  return groups.flatMap((group) => group.rules);
}

/** The alerts that the unit tests of the rules expect to fire. */
export function testedAlerts(): ReadonlySet<string> {
  return new Set([...readFileSync(RULE_TESTS, 'utf8').matchAll(/alertname="(\w+)"/g)].map(([, alert = '']) => alert));
}

/** Every query of the dashboard with the values that Grafana inserts for its variables, by panel title. */
export function dashboardQueries(): { title: string; expr: string }[] {
  const { panels, annotations } = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as Dashboard;
  const ofPanels = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })));
  const ofAnnotations = annotations.list.map(({ expr }) => ({ title: 'annotation', expr }));
  return [...ofPanels, ...ofAnnotations].map(({ title, expr }) => ({
    title,
    expr: expr.replaceAll('$__rate_interval', '1m').replaceAll(/\$(?:namespace|instance)\b/g, '.*'),
  }));
}

/** Every query in the text of the handbook. */
export function handbookQueries(): { title: string; expr: string }[] {
  const prose = readFileSync('docs/operations.md', 'utf8').replaceAll(/^ *```[^]*?^ *```/gm, '');
  const spans = Array.from(prose.matchAll(/`([^`]+)`/g), ([, expr = '']) => ({ title: expr, expr }));
  // Not the names of several metrics in a table.
  return spans.filter(({ expr }) => /^[\w ]*[({]/.test(expr) && selectorsOf(expr).length > 0 && !/_\{/.test(expr));
}

/** The metrics that an expression names, whatever they begin with, each with the labels that it selects by. */
export function selectorsOf(expr: string): { metric: string; labels: string[] }[] {
  const code = expr.replaceAll(/#.*$|\b(?:by|without|on|ignoring|group_left|group_right) *\([^)]*\)/gm, '');
  // Functions are followed by a parenthesis, and labels are in braces.
  const selectors = code.matchAll(/(?<![\w:.{])([a-z]\w*[_:][\w:]+)(?![\w:]| *\()(?:\{([^}]*)\})?/g);
  return [...selectors].map(([, metric = '', matchers = '']) => ({
    metric,
    labels: [...matchers.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label = '']) => label),
  }));
}
