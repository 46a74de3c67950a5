import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { V1PodSpec } from '@kubernetes/client-node';
import { Configuration } from '../../src/platform/config/configuration.js';
import { readConfiguration } from '../../src/platform/config/read-configuration.js';
import { SERVICE_NAME } from '../../src/platform/service/service.js';
import {
  containerOf,
  development,
  exampleSecret,
  expectKnown,
  expectRestricted,
  Manifests,
  overlays,
  production,
} from '../support/manifests.js';
import { testDirectory } from '../support/test-database.js';

/** A default installation takes 100 connections, and keeps three for superusers. */
const POSTGRES_CONNECTIONS = 97;

const job = production.only('Job');
const doctor = production.only('CronJob');
const secret = exampleSecret();

it.each([...overlays.flatMap(([, { all }]) => all), secret].map((document) => [document.kind, document] as const))(
  'Kubernetes knows every field of a %s',
  (_kind, document) => {
    expectKnown(document);
  },
);

it('the check finds unknown fields and versions', () => {
  const { deployment } = production;
  expect(() => expectKnown(Object.assign({ spce: {} }, deployment))).toThrow();
  expect(() => expectKnown({ ...deployment, apiVersion: 'apps/v1beta1' })).toThrow();
});

describe.each(overlays)('%s', (_overlay, manifests) => {
  const { deployment, pod } = manifests;
  const container = containerOf(pod);
  const configuration = readConfiguration(manifests.environmentOf(container));
  const pods = [...manifests.podTemplates.values()].map(({ spec }) => spec as V1PodSpec);

  it('selects the pods of the Deployment, not those of the Jobs', () => {
    const selectors = [
      deployment.spec.selector,
      { matchLabels: manifests.only('Service').spec?.selector ?? {} },
      ...manifests.ofKind('PodDisruptionBudget').map(({ spec }) => spec?.selector),
      ...(pod.topologySpreadConstraints ?? []).map(({ labelSelector }) => labelSelector),
    ];
    for (const selector of selectors) {
      expect(selector?.matchLabels).not.toEqual({});
      expect(manifests.selectedBy(selector)).toEqual([deployment.metadata.name]);
    }
  });

  it('refers only to objects that exist, in one namespace', () => {
    const names = manifests.all.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    for (const each of pods) {
      const { volumeMounts = [], envFrom = [], env = [] } = containerOf(each);
      expect(volumeMounts.map(({ name }) => name)).toEqual((each.volumes ?? []).map(({ name }) => name));
      const wanted = [
        `ServiceAccount ${each.serviceAccountName}`,
        ...(each.volumes ?? []).map((volume) => `PersistentVolumeClaim ${volume.persistentVolumeClaim?.claimName}`),
        ...envFrom.map(({ configMapRef }) => `ConfigMap ${configMapRef?.name}`),
      ];
      expect(names).toEqual(expect.arrayContaining(wanted));
      for (const { name, valueFrom } of env.filter(({ value }) => value === undefined)) {
        expect(valueFrom?.secretKeyRef).toMatchObject({ name: secret.metadata.name, key: name });
        expect(Object.keys(secret.stringData)).toContain(name);
      }
    }
    expect(new Set(manifests.all.map(({ metadata }) => metadata.namespace)).size).toBe(1);
    expect(deployment.metadata.namespace?.startsWith(SERVICE_NAME)).toBe(true);
  });

  it('sets existing variables to valid values, and no secret', () => {
    for (const each of pods) {
      const environment = manifests.environmentOf(containerOf(each));
      expect(Object.keys(new Configuration())).toEqual(expect.arrayContaining(Object.keys(environment)));
      expect(() => readConfiguration(environment)).not.toThrow();
    }
    expect(manifests.ofKind('Secret')).toEqual([]);
    expect(JSON.stringify(manifests.only('ConfigMap').data)).not.toContain('://');
  });

  it('requests all the memory that pods may use, does not limit CPU, and uses a released image', () => {
    const [, uid, gid] = /^USER (\d+):(\d+)$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
    for (const each of pods) {
      const { resources, image } = containerOf(each);
      expect(Object.keys(resources?.requests ?? {})).toEqual(['cpu', 'memory']);
      expect(resources?.limits).toEqual({ memory: resources?.requests?.['memory'] });
      expect(image).toMatch(/^[\w./-]+:(?!latest$)[\w.-]+$/);
      expect(each.securityContext).toMatchObject({ runAsUser: Number(uid), runAsGroup: Number(gid) });
    }
  });

  it('has pods that the profile "restricted" admits, without a Kubernetes token and without variables of other Services [pods-restricted]', () => {
    for (const template of manifests.podTemplates.values()) {
      expectRestricted(template);
      expect(template.spec).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
    }
    expect(manifests.only('ServiceAccount').automountServiceAccountToken).toBe(false);
  });

  it('gives pods enough time to shut down', () => {
    const sleep = container.lifecycle?.preStop?.sleep?.seconds ?? 0;
    expect(sleep).toBeGreaterThan(0);
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(sleep + configuration.SHUTDOWN_TIMEOUT);
  });

  it('uses the ports that the service listens on for probes, Service and Prometheus', () => {
    const { PORT, METRICS_PORT } = configuration;
    const ports = Object.fromEntries((container.ports ?? []).map(({ name, containerPort }) => [name, containerPort]));
    expect(ports).toEqual({ http: PORT, metrics: METRICS_PORT });
    expect(deployment.spec.template.metadata?.annotations).toEqual({
      'prometheus.io/scrape': 'true',
      'prometheus.io/port': String(METRICS_PORT),
      'prometheus.io/path': '/metrics',
    });
    const { startupProbe, readinessProbe, livenessProbe } = container;
    const paths = ['/livez', '/livez', '/readyz'];
    expect([startupProbe, livenessProbe, readinessProbe].map((probe) => probe?.httpGet)).toEqual(
      paths.map((path) => ({ path, port: 'metrics' })),
    );
    expect(manifests.only('Service').spec?.ports?.map(({ targetPort }) => targetPort)).toEqual(['http']);
  });
});

it('the network denies all traffic but that of the service, its metrics, DNS, and the hosts of the example Secret [pods-restricted]', () => {
  const policies = production.ofKind('NetworkPolicy').map(({ spec }) => spec);
  const portsOf = (rules: { ports?: { port?: unknown }[] }[] = []) =>
    rules.map(({ ports = [] }) => ports.map(({ port }) => port));
  const [service, migration] = policies;
  const selected = policies.map((policy) => production.selectedBy(policy?.podSelector));
  // The doctor reaches what the service reaches.
  expect(selected).toEqual([[production.deployment.metadata.name, doctor.metadata.name], [job.metadata.name]]);
  for (const policy of policies) expect(policy?.policyTypes).toEqual(['Ingress', 'Egress']);
  const { PORT, METRICS_PORT } = new Configuration();
  expect(portsOf(service?.ingress)).toEqual([[PORT], [METRICS_PORT]]);
  for (const rule of service?.ingress ?? []) expect(rule).toHaveProperty(['from', '0', 'namespaceSelector', 'matchLabels']);
  expect(migration?.ingress).toBeUndefined();
  expect(portsOf(service?.egress)).toEqual([[53, 53], [5432, 6432], [6379]]);
  expect(migration?.egress).toEqual(service?.egress?.slice(0, 2));
  const urls = Object.values(secret.stringData).flatMap((value) => value.split(','));
  const ports = urls.map((url) => Number(new URL(url).port));
  expect(portsOf(service?.egress).flat()).toEqual(expect.arrayContaining(ports));
});

it('development has one pod with a volume for the embedded database, and no other writable directory', () => {
  // Two processes never run on the data directory.
  expect(development.deployment.spec).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } });
  expect(development.only('PersistentVolumeClaim').spec?.accessModes).toEqual(['ReadWriteOnce']);
  const container = containerOf(development.pod);
  const { DATABASE_URL, DATA_DIR, MIGRATE_ON_START } = readConfiguration(development.environmentOf(container));
  expect({ DATABASE_URL, MIGRATE_ON_START }).toEqual({ DATABASE_URL: undefined, MIGRATE_ON_START: true });
  expect(container.volumeMounts).toEqual([{ name: 'data', mountPath: DATA_DIR }]);
  expect(development.pod.securityContext?.fsGroup).toBe(development.pod.securityContext?.runAsGroup);
});

describe('production', () => {
  const { spec, metadata } = production.deployment;
  const container = containerOf(production.pod);
  const configuration = readConfiguration(production.environmentOf(container));
  const { minReplicas, maxReplicas, scaleTargetRef } = production.only('HorizontalPodAutoscaler').spec;
  /** Pods that there can be during a rollout. */
  const rollout = maxReplicas + Number(spec.strategy?.rollingUpdate?.maxSurge);

  it('uses every key of the Secret, whose example values are placeholders', () => {
    const used = container.env?.map(({ valueFrom }) => valueFrom?.secretKeyRef?.key);
    expect(used?.toSorted()).toEqual(Object.keys(secret.stringData).toSorted());
    expect(secret.metadata.namespace).toBe(metadata.namespace);
    for (const value of Object.values(secret.stringData)) expect(value).toMatch(/:PASSWORD@[a-z-]+\.example\.com:/);
  });

  it('replaces its pods one by one without losing capacity, drains one at a time, and leaves their number to the autoscaler', () => {
    expect(spec.strategy).toEqual({ type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } });
    // A pod that is not ready must not block the drain of a node.
    expect(production.only('PodDisruptionBudget').spec).toMatchObject({
      maxUnavailable: 1,
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
    });
    const spread = production.pod.topologySpreadConstraints?.map(({ topologyKey }) => topologyKey);
    expect(spread).toEqual(['topology.kubernetes.io/zone', 'kubernetes.io/hostname']);
    const { apiVersion, kind } = production.deployment;
    expect(scaleTargetRef).toEqual({ apiVersion, kind, name: metadata.name });
    expect(spec).not.toHaveProperty('replicas');
    expect(minReplicas).toBeGreaterThanOrEqual(3);
  });

  it('divides the rate limit and the connections of a default PostgreSQL by the maximum number of processes', () => {
    const { DATABASE_POOL_SIZE, RATE_LIMIT_REPLICAS } = configuration;
    expect(RATE_LIMIT_REPLICAS).toBe(rollout);
    expect(rollout * DATABASE_POOL_SIZE).toBeLessThan(POSTGRES_CONNECTIONS);
    const readme = readFileSync('deploy/kubernetes/README.md', 'utf8');
    for (const pods of [maxReplicas, rollout]) {
      expect(readme).toContain(`${pods} × ${DATABASE_POOL_SIZE} = ${pods * DATABASE_POOL_SIZE}`);
    }
  });

  it('does not migrate in the serving pods, and does not fall back to the embedded database', () => {
    expect(configuration.MIGRATE_ON_START).toBe(false);
    const required = container.env?.filter(({ valueFrom }) => !valueFrom?.secretKeyRef?.optional);
    expect(required?.map(({ name }) => name)).toEqual(['DATABASE_URL', 'REDIS_URL']);
  });
});

it('the migration is a command of the same release, is finished before the rollout counts as failed, and needs no ConfigMap', () => {
  const { metadata, spec } = job;
  const container = containerOf(spec.template.spec as V1PodSpec);
  expect([container.command, container.args]).toEqual([undefined, ['dist/cli.js', 'migrate']]);
  expect(readFileSync('Dockerfile', 'utf8')).toMatch(
    /^ENTRYPOINT \["node", "--disable-sigusr1"\]\nCMD \["dist\/main\.js"\]$/m,
  );
  const { image } = containerOf(production.pod);
  expect([container.image, metadata.name]).toEqual([image, expect.stringMatching(/^items-service-migrate-[a-z0-9]{10}$/)]);
  expect(spec.template.spec?.restartPolicy).toBe('Never');
  expect(production.deployment.spec.progressDeadlineSeconds).toBeGreaterThan(spec.activeDeadlineSeconds ?? Infinity);
  expect(container.envFrom).toBeUndefined();
  const { DATABASE_URL, DATABASE_DIRECT_URL } = secret.stringData;
  const configuration = readConfiguration(production.environmentOf(container));
  expect(configuration).toMatchObject({ DATABASE_URL, DATABASE_DIRECT_URL, LOG_FORMAT: 'json', REDIS_URL: undefined });
});

it('the doctor is a command of the same release with the environment of the service, and runs when a Job is made of it', () => {
  const { suspend, jobTemplate } = doctor.spec;
  const container = containerOf(jobTemplate.spec?.template.spec as V1PodSpec);
  const { image, env, envFrom } = containerOf(production.pod);
  expect(suspend).toBe(true);
  expect(container).toMatchObject({ image, env, envFrom, args: ['dist/cli.js', 'doctor'] });
  expect(jobTemplate.spec).toMatchObject({ backoffLimit: 0, template: { spec: { restartPolicy: 'Never' } } });
});

it('everything has the recommended labels, with the version of package.json, which is the tag of the image', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  expect(containerOf(production.pod).image).toMatch(new RegExp(`:${RegExp.escape(version)}$`));
  const common = { 'app.kubernetes.io/name': 'items-service', 'app.kubernetes.io/part-of': 'items' };
  const expected = { ...common, 'app.kubernetes.io/version': version };
  for (const { metadata } of production.all) expect(metadata.labels).toMatchObject(expected);
  expect(production.deployment.spec.template.metadata?.labels).toMatchObject(expected);
  for (const { metadata } of development.all) expect(metadata.labels).toMatchObject(common);
  // It would change with the version though the image, and so the name of the Job, may not.
  expect(job.spec.template.metadata?.labels).not.toHaveProperty(['app.kubernetes.io/version']);
});

it('each image has its own migration Job, with a valid name for any tag, digest or registry', () => {
  const directory = mkdtempSync(join(testDirectory(), 'kubernetes-'));
  cpSync('deploy/kubernetes', directory, { recursive: true });
  const path = join(directory, 'overlays', 'production', 'kustomization.yaml');
  const original = readFileSync(path, 'utf8');
  const digest = `digest: sha256:${'0123456789abcdef'.repeat(4)}`;
  const [released = ''] = /(?<=newTag: ).*/.exec(original) ?? [];
  const tags = [released, '0.0.1', 'v1_RC', 'x'.repeat(128), `${released}\n    ${digest}`].map((tag) => `newTag: ${tag}`);
  const pinned = [...tags, digest].map((pin) => original.replace(/newTag: .*/, pin));
  const edited = [...pinned, original.replace('registry.example.com/', 'registry.example.com:5000/')];
  const names = edited.map((content) => {
    writeFileSync(path, content);
    const manifests = Manifests.of('production', directory);
    const { name } = manifests.only('Job').metadata;
    const images = [manifests.pod, manifests.only('Job').spec.template.spec as V1PodSpec].map(
      (spec) => containerOf(spec).image,
    );
    expect(new Set(images).size).toBe(1);
    return name;
  });
  expect(names[0]).toBe(job.metadata.name);
  expect(new Set(names).size).toBe(edited.length);
  // https://kubernetes.io/docs/concepts/workloads/controllers/job/#writing-a-job-spec
  for (const name of names) expect(name).toMatch(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);
});
