import { readFileSync } from 'node:fs';
import type { V1PodSpec } from '@kubernetes/client-node';
import { Configuration } from '../../src/platform/config/configuration.js';
import { readConfiguration } from '../../src/platform/config/read-configuration.js';
import { exampleSecret } from './support/manifests.js';
import { containerOf, development, environmentOf, overlays, podOf, production } from './support/overlays.js';

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
