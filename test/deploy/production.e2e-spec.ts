import { existsSync, readFileSync } from 'node:fs';
import type { V1PodSpec } from '@kubernetes/client-node';
import { readConfiguration } from '../../src/platform/config/read-configuration.js';
import { exampleSecret } from './support/manifests.js';
import { containerOf, environmentOf, podOf, production } from './support/overlays.js';

/** A default installation takes 100 connections, and keeps three for superusers. */
const POSTGRES_CONNECTIONS = 97;

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
