import type { V1Container, V1PodSpec } from '@kubernetes/client-node';
import { exampleSecret, Manifests } from './manifests.js';

export const production = Manifests.of('production');
export const development = Manifests.of('development');

/** For tests of both. */
export const overlays = [
  ['production', production],
  ['development', development],
] as const;

/** What the pods that serve are. */
export function podOf({ deployment }: Manifests): V1PodSpec {
  return deployment.spec.template.spec as V1PodSpec;
}

/** The only container of a pod. */
export function containerOf({ containers: [container, ...others] }: V1PodSpec): V1Container {
  if (container === undefined || others.length > 0) {
    throw new Error('A pod has one container.');
  }
  return container;
}

/** What a container gets from the ConfigMap, the Secret and its own list. */
export function environmentOf(manifests: Manifests, { env = [], envFrom = [] }: V1Container): Record<string, string> {
  const shared = envFrom.map(({ configMapRef }) => (configMapRef ? manifests.configuration : {}));
  const own = env.map(({ name, value, valueFrom }) => ({
    [name]: value ?? exampleSecret().stringData[valueFrom?.secretKeyRef?.key ?? ''] ?? '',
  }));
  return Object.assign({}, ...shared, ...own) as Record<string, string>;
}
