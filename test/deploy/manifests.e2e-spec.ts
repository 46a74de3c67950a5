import { existsSync, readFileSync } from 'node:fs';
import type { V1PodSpec } from '@kubernetes/client-node';
import { Configuration } from '../../src/platform/config/configuration.js';
import { readConfiguration } from '../../src/platform/config/read-configuration.js';
import { exampleSecret } from './support/manifests.js';
import { containerOf, development, environmentOf, overlays, podOf, production } from './support/overlays.js';
import { expectRestricted } from './support/restricted-profile.js';

/** A default installation takes 100 connections, and keeps three for superusers. */
const POSTGRES_CONNECTIONS = 97;

describe('selectors', () => {
  it.each(overlays)('of %s find the pods of the Deployment, and not those of the Job', (_overlay, manifests) => {
    const { deployment } = manifests;
    const selectors = [
      deployment.spec.selector.matchLabels,
      manifests.only('Service').spec?.selector,
      ...manifests.ofKind('PodDisruptionBudget').map(({ spec }) => spec?.selector?.matchLabels),
      ...(podOf(manifests).topologySpreadConstraints ?? []).map(({ labelSelector }) => labelSelector?.matchLabels),
    ];
    for (const labels of selectors) {
      expect(labels).toBeDefined();
      expect(manifests.selectedBy(labels)).toEqual([deployment.metadata.name]);
    }
  });

  it('of the network policies find one kind of pod each, and leave none out', () => {
    const policies = production.ofKind('NetworkPolicy');
    expect(policies.map(({ spec }) => production.selectedBy(spec?.podSelector?.matchLabels))).toEqual([
      [production.deployment.metadata.name],
      [production.job.metadata.name],
    ]);
    for (const { spec } of policies) expect(Object.keys(spec?.podSelector ?? {})).toEqual(['matchLabels']);
  });

  it('would find the Job if they named the application only', () => {
    expect(production.selectedBy({ 'app.kubernetes.io/name': 'items-service' })).toHaveLength(2);
  });

  it('of the autoscaler is the name of the Deployment', () => {
    const { apiVersion, kind, metadata } = production.deployment;
    expect(production.autoscaler.spec.scaleTargetRef).toEqual({ apiVersion, kind, name: metadata.name });
  });
});

describe('references', () => {
  it.each(overlays)('of %s lead to something', (_overlay, manifests) => {
    const names = (kind: 'ConfigMap' | 'PersistentVolumeClaim' | 'ServiceAccount') =>
      manifests.ofKind(kind).map(({ metadata }) => metadata.name);
    for (const { spec } of manifests.podTemplates.values()) {
      const pod = spec as V1PodSpec;
      const { volumeMounts = [], envFrom = [], env = [] } = containerOf(pod);
      const { metadata: secret, stringData } = exampleSecret();
      expect(names('ServiceAccount')).toContain(pod.serviceAccountName);
      expect(volumeMounts.map(({ name }) => name)).toEqual((pod.volumes ?? []).map(({ name }) => name));
      for (const { persistentVolumeClaim } of pod.volumes ?? []) {
        expect(names('PersistentVolumeClaim')).toContain(persistentVolumeClaim?.claimName);
      }
      for (const source of envFrom) {
        expect(Object.keys(source)).toEqual(['configMapRef']);
        expect(names('ConfigMap')).toContain(source.configMapRef?.name);
      }
      for (const { name, value, valueFrom } of env) {
        expect(value === undefined ? valueFrom?.secretKeyRef?.name : secret.name).toBe(secret.name);
        expect(value === undefined ? Object.keys(stringData) : [name]).toContain(valueFrom?.secretKeyRef?.key ?? name);
        expect(valueFrom?.secretKeyRef?.key ?? name).toBe(name);
      }
    }
  });

  it.each(overlays)('of %s stay in its namespace', (_overlay, manifests) => {
    expect(new Set(manifests.all.map(({ metadata }) => metadata.namespace)).size).toBe(1);
    expect(manifests.all[0]?.metadata.namespace).toMatch(/^items/);
  });

  it('use every key of the Secret', () => {
    const used = containerOf(podOf(production)).env?.map(({ valueFrom }) => valueFrom?.secretKeyRef?.key);
    expect(used?.toSorted()).toEqual(Object.keys(exampleSecret().stringData).toSorted());
    expect(exampleSecret().metadata.namespace).toBe(production.deployment.metadata.namespace);
  });
});

describe('what is configured', () => {
  const known = Object.keys(new Configuration());

  it.each(overlays)('in %s exists and is valid', (_overlay, manifests) => {
    for (const { spec } of manifests.podTemplates.values()) {
      const environment = environmentOf(manifests, containerOf(spec as V1PodSpec));
      expect(known).toEqual(expect.arrayContaining(Object.keys(environment)));
      expect(() => readConfiguration(environment)).not.toThrow();
    }
  });

  it('as secret is no part of an overlay, and stands for something else in the example', () => {
    expect([...production.ofKind('Secret'), ...development.ofKind('Secret')]).toEqual([]);
    for (const value of Object.values(exampleSecret().stringData)) expect(value).toMatch(/:PASSWORD@[a-z-]+\.example\.com:/);
    for (const { configuration } of [production, development]) expect(JSON.stringify(configuration)).not.toContain('://');
  });
});

describe('pods', () => {
  const all = overlays.flatMap(([overlay, manifests]) =>
    [...manifests.podTemplates].map(([name, { spec }]) => [overlay, name, containerOf(spec as V1PodSpec), spec] as const),
  );

  it.each(all)(
    'of %s/%s are promised the memory that they may use, and take what CPU is idle',
    (_overlay, _name, { resources }) => {
      expect(Object.keys(resources?.requests ?? {})).toEqual(['cpu', 'memory']);
      expect(resources?.limits).toEqual({ memory: resources?.requests?.['memory'] });
    },
  );

  it.each(all)('of %s/%s run an image of a known release, as its user', (_overlay, _name, { image }, spec) => {
    expect(image).toMatch(/^[\w./-]+:(?!latest$)[\w.-]+$/);
    const [, uid, gid] = /^USER (\d+):(\d+)$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
    expect(spec?.securityContext).toMatchObject({ runAsUser: Number(uid), runAsGroup: Number(gid) });
  });

  it.each(overlays)(
    'of %s are admitted by the profile "restricted", and have no token and no variables of other Services',
    (_overlay, manifests) => {
      for (const template of manifests.podTemplates.values()) {
        expectRestricted(template);
        expect(template.spec).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
      }
    },
  );

  it.each(overlays)('of %s cannot reach the API of Kubernetes through their account', (_overlay, manifests) => {
    expect(manifests.only('ServiceAccount').automountServiceAccountToken).toBe(false);
  });
});

describe('the end of a pod', () => {
  it.each(overlays)('of %s has the time that it takes', (_overlay, manifests) => {
    const pod = podOf(manifests);
    const container = containerOf(pod);
    const { SHUTDOWN_TIMEOUT } = readConfiguration(environmentOf(manifests, container));
    const sleep = container.lifecycle?.preStop?.sleep?.seconds ?? 0;
    expect(sleep).toBeGreaterThan(0);
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(sleep + SHUTDOWN_TIMEOUT);
  });
});

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

describe('development', () => {
  it('is one pod on one volume, and nothing else', () => {
    expect(development.all.map(({ kind }) => kind).toSorted()).toEqual(
      ['ConfigMap', 'Deployment', 'PersistentVolumeClaim', 'Service', 'ServiceAccount'].toSorted(),
    );
    expect(development.deployment.spec.replicas).toBe(1);
    expect(development.only('PersistentVolumeClaim').spec?.accessModes).toEqual(['ReadWriteOnce']);
  });

  it('never runs two processes on the data directory', () => {
    expect(development.deployment.spec.strategy).toEqual({ type: 'Recreate' });
  });

  it('keeps the embedded database on the volume, which is the only place it can write to', () => {
    const container = containerOf(podOf(development));
    const { DATABASE_URL, DATA_DIR, MIGRATE_ON_START } = readConfiguration(environmentOf(development, container));
    expect({ DATABASE_URL, MIGRATE_ON_START }).toEqual({ DATABASE_URL: undefined, MIGRATE_ON_START: true });
    expect(container.volumeMounts).toEqual([{ name: 'data', mountPath: DATA_DIR }]);
    expect(podOf(development).securityContext?.fsGroup).toBe(podOf(development).securityContext?.runAsGroup);
  });
});

describe('production', () => {
  const { spec } = production.deployment;

  it('replaces its pods one by one, with none missing', () => {
    expect(spec.strategy).toEqual({ type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } });
  });

  it('leaves the number of pods to the autoscaler, three or more', () => {
    expect(spec).not.toHaveProperty('replicas');
    expect(production.autoscaler.spec.minReplicas).toBeGreaterThanOrEqual(3);
    expect(production.autoscaler.spec.metrics?.map(({ resource }) => resource?.name)).toEqual(['cpu']);
    expect(containerOf(podOf(production)).resources?.requests).toHaveProperty('cpu');
  });

  it('loses one pod at a time to drains', () => {
    const { spec: budget } = production.only('PodDisruptionBudget');
    expect(budget).toMatchObject({ maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' });
    expect(budget).not.toHaveProperty('minAvailable');
  });

  it('spreads its pods over zones and nodes', () => {
    const keys = podOf(production).topologySpreadConstraints?.map(({ topologyKey, whenUnsatisfiable }) => [
      topologyKey,
      whenUnsatisfiable,
    ]);
    expect(keys).toEqual([
      ['topology.kubernetes.io/zone', 'ScheduleAnyway'],
      ['kubernetes.io/hostname', 'DoNotSchedule'],
    ]);
  });

  it('shares the rate limit among as many processes as there can be', () => {
    const { RATE_LIMIT_REPLICAS } = readConfiguration(production.configuration);
    const surge = Number(spec.strategy?.rollingUpdate?.maxSurge);
    expect(RATE_LIMIT_REPLICAS).toBe(production.autoscaler.spec.maxReplicas + surge);
  });

  it('keeps to the connections of a default PostgreSQL, and the README has the sum', () => {
    const { DATABASE_POOL_SIZE } = readConfiguration(production.configuration);
    const { maxReplicas } = production.autoscaler.spec;
    const rollout = maxReplicas + Number(spec.strategy?.rollingUpdate?.maxSurge);
    expect(rollout * DATABASE_POOL_SIZE).toBeLessThan(POSTGRES_CONNECTIONS);
    const readme = readFileSync('deploy/kubernetes/README.md', 'utf8');
    expect(readme).toContain(`${maxReplicas} × ${DATABASE_POOL_SIZE} = ${maxReplicas * DATABASE_POOL_SIZE}`);
    expect(readme).toContain(`${rollout} × ${DATABASE_POOL_SIZE} = ${rollout * DATABASE_POOL_SIZE}`);
  });

  it('does not migrate in the pods that serve, nor fall back to the embedded database', () => {
    const configuration = readConfiguration(environmentOf(production, containerOf(podOf(production))));
    expect(configuration.MIGRATE_ON_START).toBe(false);
    const required = containerOf(podOf(production)).env?.filter(({ valueFrom }) => !valueFrom?.secretKeyRef?.optional);
    expect(required?.map(({ name }) => name)).toEqual(['DATABASE_URL', 'REDIS_URL']);
  });
});

describe('the migration', () => {
  const { metadata, spec } = production.job;
  const pod = spec.template.spec as V1PodSpec;
  const container = containerOf(pod);

  it('runs a command that the image has', () => {
    expect(container.args).toEqual(['dist/cli.js', 'migrate']);
    expect(container.command).toBeUndefined();
    expect(existsSync('src/cli.ts')).toBe(true);
    expect(readFileSync('Dockerfile', 'utf8')).toMatch(/^ENTRYPOINT \["node", "--disable-sigusr1"\]\nCMD \["dist\/main\.js"\]$/m);
  });

  it('is of the release that it is named after', () => {
    const { image } = containerOf(podOf(production));
    expect(container.image).toBe(image);
    expect(metadata.name).toBe(`items-service-migrate-${image?.split(':').at(-1)}`);
  });

  it('ends: in success, in failure, or in time', () => {
    expect(pod.restartPolicy).toBe('Never');
    expect(spec.backoffLimit).toBeGreaterThan(0);
    expect(spec.activeDeadlineSeconds).toBeGreaterThan(0);
    expect(spec.ttlSecondsAfterFinished).toBeGreaterThan(0);
  });

  it('has its time before the rollout that waits for it counts as failed', () => {
    expect(production.deployment.spec.progressDeadlineSeconds).toBeGreaterThan(spec.activeDeadlineSeconds ?? Infinity);
  });

  it('knows the databases, and does not change with the ConfigMap', () => {
    expect(container.envFrom).toBeUndefined();
    const { DATABASE_URL, DATABASE_DIRECT_URL } = exampleSecret().stringData;
    const configuration = readConfiguration(environmentOf(production, container));
    expect(configuration).toMatchObject({ DATABASE_URL, DATABASE_DIRECT_URL, LOG_FORMAT: 'json', REDIS_URL: undefined });
  });
});
