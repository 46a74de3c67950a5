import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import { containerOf } from './overlays.js';

/** What the profile forbids by its mere presence in a pod, or what would escape the checks of its only container. */
const FORBIDDEN = ['hostNetwork', 'hostPID', 'hostIPC', 'initContainers', 'ephemeralContainers'] as const;

/**
 * Expects the pods of a template to have exactly the settings with which they are admitted by the profile "restricted" of the Pod
 * Security Standards (https://kubernetes.io/docs/concepts/security/pod-security-standards/), and no writable root.
 */
export function expectRestricted({ metadata, spec }: V1PodTemplateSpec): void {
  if (spec === undefined) {
    throw new Error('A pod template without a specification.');
  }
  const { securityContext = {}, volumes = [] } = spec;
  const container = containerOf(spec);
  // The group of a volume is no privilege.
  const { fsGroup: _group, fsGroupChangePolicy: _policy, ...context } = securityContext;
  expect(context).toEqual({
    runAsNonRoot: true,
    runAsUser: 65_532,
    runAsGroup: 65_532,
    seccompProfile: { type: 'RuntimeDefault' },
  });
  expect(container.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  });
  expect(FORBIDDEN.filter((name) => name in spec)).toEqual([]);
  for (const { name: _name, ...source } of volumes) {
    expect(['persistentVolumeClaim', 'secret']).toEqual(expect.arrayContaining(Object.keys(source)));
  }
  // Ports of the node, and hosts of probes and hooks.
  expect(JSON.stringify(container)).not.toMatch(/"host(?:Port|IP)?":/);
  expect(JSON.stringify(metadata?.annotations ?? {})).not.toContain('apparmor');
}
