import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import { Manifests } from './support/manifests.js';
import { mutate } from './support/mutate.js';
import { RULE_NAMES, violationsOf } from './support/restricted-profile.js';

const templates = ['production', 'development'].flatMap((overlay) =>
  [...Manifests.of(overlay).podTemplates].map(([name, template]) => [overlay, name, template] as const),
);

it.each(templates)('pods of %s/%s are admitted by the profile "restricted"', (_overlay, _name, template) => {
  expect(violationsOf(template)).toEqual([]);
});

it.each(templates)(
  'pods of %s/%s have no token, no writable root, and no variables of other Services',
  (_overlay, _name, { spec }) => {
    expect(spec).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
    for (const container of spec?.containers ?? []) expect(container.securityContext?.readOnlyRootFilesystem).toBe(true);
  },
);

describe.each(templates)('what the profile forbids is found in %s/%s:', (_overlay, _name, template) => {
  const container = 'spec.containers.0';
  const context = `${container}.securityContext`;
  const pod = 'spec.securityContext';
  const sidecar = { name: 'sidecar', image: 'sidecar:1' };
  const unsafe: [rule: string, path: string, value: unknown][] = [
    ['HostProcess', `${pod}.windowsOptions`, { hostProcess: true }],
    ['HostProcess', `${context}.windowsOptions`, { hostProcess: true }],
    ['Host Namespaces', 'spec.hostNetwork', true],
    ['Host Namespaces', 'spec.hostPID', true],
    ['Host Namespaces', 'spec.hostIPC', true],
    ['Privileged Containers', `${context}.privileged`, true],
    ['Host Ports', `${container}.ports`, [{ containerPort: 3000, hostPort: 3000 }]],
    ['Host Probes / Lifecycle Hooks', `${container}.livenessProbe`, { httpGet: { port: 80, host: '169.254.169.254' } }],
    ['Host Probes / Lifecycle Hooks', `${container}.lifecycle`, { preStop: { tcpSocket: { port: 80, host: '10.0.0.1' } } }],
    ['AppArmor', `${pod}.appArmorProfile`, { type: 'Unconfined' }],
    ['AppArmor', `${context}.appArmorProfile`, { type: 'Unconfined' }],
    ['AppArmor', 'metadata.annotations', { 'container.apparmor.security.beta.kubernetes.io/migrate': 'unconfined' }],
    ['SELinux', `${pod}.seLinuxOptions`, { type: 'spc_t' }],
    ['SELinux', `${context}.seLinuxOptions`, { role: 'system_r' }],
    ['SELinux', `${context}.seLinuxOptions`, { user: 'system_u' }],
    ['/proc Mount Type', `${context}.procMount`, 'Unmasked'],
    ['Sysctls', `${pod}.sysctls`, [{ name: 'kernel.msgmax', value: '65536' }]],
    ['Volume Types', 'spec.volumes', [{ name: 'host', hostPath: { path: '/' } }]],
    ['Volume Types', 'spec.volumes', [{ name: 'share', nfs: { server: 'nfs.example.com', path: '/' } }]],
    ['Privilege Escalation', `${context}.allowPrivilegeEscalation`, true],
    ['Privilege Escalation', `${context}.allowPrivilegeEscalation`, undefined],
    ['Running as Non-root', `${pod}.runAsNonRoot`, undefined],
    ['Running as Non-root', `${context}.runAsNonRoot`, false],
    ['Running as Non-root user', `${pod}.runAsUser`, 0],
    ['Running as Non-root user', `${context}.runAsUser`, 0],
    ['Seccomp', `${pod}.seccompProfile`, undefined],
    ['Seccomp', `${pod}.seccompProfile`, { type: 'Unconfined' }],
    ['Seccomp', `${context}.seccompProfile`, { type: 'Unconfined' }],
    ['Capabilities', `${context}.capabilities.drop`, undefined],
    ['Capabilities', `${context}.capabilities.drop`, ['NET_RAW']],
    ['Capabilities', `${context}.capabilities.add`, ['SYS_ADMIN']],
  ];

  it.each(unsafe)('%s (%s: %j)', (rule, path, value) => {
    expect(violationsOf(mutate<V1PodTemplateSpec>(template, path, value))).toEqual([rule]);
  });

  it('every rule is among those', () => {
    expect(new Set(unsafe.map(([rule]) => rule))).toEqual(new Set(RULE_NAMES));
  });

  it.each(['initContainers', 'ephemeralContainers'])('a container among the %s that says nothing', (list) => {
    const violations = violationsOf(mutate<V1PodTemplateSpec>(template, `spec.${list}`, [sidecar]));
    expect(violations).toEqual(['Privilege Escalation', 'Capabilities']);
  });
});
