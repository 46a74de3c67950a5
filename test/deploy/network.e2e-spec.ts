import { Configuration } from '../../src/platform/config/configuration.js';
import { readConfiguration } from '../../src/platform/config/read-configuration.js';
import { exampleSecret } from './support/manifests.js';
import { containerOf, environmentOf, overlays, podOf, production } from './support/overlays.js';

describe('ports', () => {
  it.each(overlays)('of %s are those that the service listens on', (_overlay, manifests) => {
    const container = containerOf(podOf(manifests));
    const { PORT, METRICS_PORT } = readConfiguration(environmentOf(manifests, container));
    const ports = Object.fromEntries((container.ports ?? []).map(({ name, containerPort }) => [name, containerPort]));
    expect(ports).toEqual({ http: PORT, metrics: METRICS_PORT });
    expect(manifests.deployment.spec.template.metadata?.annotations).toEqual({
      'prometheus.io/scrape': 'true',
      'prometheus.io/port': String(METRICS_PORT),
      'prometheus.io/path': '/metrics',
    });
  });

  it.each(overlays)('of %s are named by its probes and its Service', (_overlay, manifests) => {
    const { startupProbe, readinessProbe, livenessProbe } = containerOf(podOf(manifests));
    expect(startupProbe?.httpGet).toEqual({ path: '/livez', port: 'http' });
    expect(readinessProbe?.httpGet).toEqual({ path: '/readyz', port: 'http' });
    expect(livenessProbe?.httpGet).toEqual({ path: '/livez', port: 'http' });
    expect(manifests.only('Service').spec?.ports?.map(({ targetPort }) => targetPort)).toEqual(['http']);
  });
});

describe('the network', () => {
  const [service, migration] = production.ofKind('NetworkPolicy').map(({ spec }) => spec);
  const portsOf = (rules: { ports?: { port?: unknown }[] }[] = []) =>
    rules.map(({ ports = [] }) => ports.map(({ port }) => port));

  it('is closed both ways but for what a rule opens, and no rule opens every port', () => {
    for (const policy of [service, migration]) {
      expect(policy?.policyTypes).toEqual(['Ingress', 'Egress']);
      for (const { ports } of [...(policy?.ingress ?? []), ...(policy?.egress ?? [])]) expect(ports).not.toHaveLength(0);
    }
  });

  it('lets the ingress controller reach the API, Prometheus the metrics, and nobody the Job', () => {
    const { PORT, METRICS_PORT } = new Configuration();
    expect(portsOf(service?.ingress)).toEqual([[PORT], [METRICS_PORT]]);
    for (const rule of service?.ingress ?? []) expect(rule).toHaveProperty(['from', '0', 'namespaceSelector', 'matchLabels']);
    expect(migration?.ingress).toBeUndefined();
  });

  it('leads to DNS, PostgreSQL and, for the service, Redis', () => {
    expect(portsOf(service?.egress)).toEqual([[53, 53], [5432, 6432], [6379]]);
    expect(portsOf(migration?.egress)).toEqual([
      [53, 53],
      [5432, 6432],
    ]);
    expect(service?.egress?.slice(0, 2)).toEqual(migration?.egress);
  });

  it('leads to every host of the example Secret', () => {
    const defaults: Record<string, number> = { 'postgres:': 5432, 'redis:': 6379 };
    const urls = Object.values(exampleSecret().stringData).flatMap((value) => value.split(','));
    const ports = urls.map((url) => Number(new URL(url).port) || defaults[new URL(url).protocol]);
    expect(portsOf(service?.egress).flat()).toEqual(expect.arrayContaining(ports));
  });
});
