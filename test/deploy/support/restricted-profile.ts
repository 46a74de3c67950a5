import type { V1Container, V1EphemeralContainer, V1PodSpec, V1PodTemplateSpec, V1Probe } from '@kubernetes/client-node';

/**
 * The profile "restricted" of the Pod Security Standards, with what it takes over from "baseline", in the order and under
 * the names of https://kubernetes.io/docs/concepts/security/pod-security-standards/ (Kubernetes 1.34).
 */
type Container = Omit<V1Container, 'name'> & Partial<Pick<V1EphemeralContainer, 'targetContainerName'>>;

interface Pod {
  spec: V1PodSpec;
  annotations: Record<string, string>;
  containers: Container[];
}

/** Whether a pod breaks the rule. */
type Rule = (pod: Pod) => boolean;

/** The contexts of the pod and of its containers: most rules are about both. */
const contexts = ({ spec, containers }: Pod) => [
  spec.securityContext,
  ...containers.map((container) => container.securityContext),
];

const handlers = ({ livenessProbe, readinessProbe, startupProbe, lifecycle }: Container) =>
  [livenessProbe, readinessProbe, startupProbe, lifecycle?.preStop, lifecycle?.postStart].filter(
    (handler) => handler !== undefined,
  );

const namesHost = ({ httpGet, tcpSocket }: Pick<V1Probe, 'httpGet' | 'tcpSocket'>) => Boolean(httpGet?.host ?? tcpSocket?.host);

const isAmong = (allowed: readonly string[], value: string | undefined) => allowed.includes(value ?? '');

const SAFE_SYSCTLS = new Set([
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.ip_local_reserved_ports',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.ping_group_range',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_rmem',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.tcp_wmem',
]);

const VOLUME_TYPES = new Set([
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
]);

const SELINUX_TYPES = ['', 'container_t', 'container_init_t', 'container_kvm_t', 'container_engine_t'];

const APP_ARMOR_ANNOTATION = 'container.apparmor.security.beta.kubernetes.io/';

const RULES: Record<string, Rule> = {
  HostProcess: (pod) => contexts(pod).some((context) => context?.windowsOptions?.hostProcess),
  'Host Namespaces': ({ spec }) => Boolean(spec.hostNetwork || spec.hostPID || spec.hostIPC),
  'Privileged Containers': ({ containers }) => containers.some(({ securityContext }) => securityContext?.privileged),
  'Host Ports': ({ containers }) => containers.some(({ ports }) => ports?.some(({ hostPort }) => hostPort)),
  'Host Probes / Lifecycle Hooks': ({ containers }) => containers.flatMap(handlers).some(namesHost),
  AppArmor: (pod) =>
    contexts(pod).some((context) => !isAmong(['', 'RuntimeDefault', 'Localhost'], context?.appArmorProfile?.type)) ||
    Object.entries(pod.annotations).some(
      ([name, value]) => name.startsWith(APP_ARMOR_ANNOTATION) && !/^(?:|runtime\/default|localhost\/.*)$/.test(value),
    ),
  SELinux: (pod) =>
    contexts(pod).some(
      (context) =>
        !isAmong(SELINUX_TYPES, context?.seLinuxOptions?.type) || context?.seLinuxOptions?.user || context?.seLinuxOptions?.role,
    ),
  '/proc Mount Type': ({ containers }) =>
    containers.some(({ securityContext }) => !isAmong(['', 'Default'], securityContext?.procMount)),
  Sysctls: ({ spec }) => Boolean(spec.securityContext?.sysctls?.some(({ name }) => !SAFE_SYSCTLS.has(name))),
  'Volume Types': ({ spec }) =>
    Boolean(spec.volumes?.some((volume) => Object.keys(volume).some((key) => key !== 'name' && !VOLUME_TYPES.has(key)))),
  'Privilege Escalation': ({ containers }) =>
    containers.some(({ securityContext }) => securityContext?.allowPrivilegeEscalation !== false),
  // Said once for the pod, or by each container; none may take it back.
  'Running as Non-root': ({ spec, containers }) =>
    containers.some(({ securityContext }) => (securityContext?.runAsNonRoot ?? spec.securityContext?.runAsNonRoot) !== true),
  'Running as Non-root user': (pod) => contexts(pod).some((context) => context?.runAsUser === 0),
  Seccomp: ({ spec, containers }) =>
    containers.some(({ securityContext }) => {
      const { type } = securityContext?.seccompProfile ?? spec.securityContext?.seccompProfile ?? {};
      return !isAmong(['RuntimeDefault', 'Localhost'], type);
    }) || spec.securityContext?.seccompProfile?.type === 'Unconfined',
  Capabilities: ({ containers }) =>
    containers.some(({ securityContext }) => {
      const { drop = [], add = [] } = securityContext?.capabilities ?? {};
      return !drop.includes('ALL') || add.some((capability) => capability !== 'NET_BIND_SERVICE');
    }),
};

export const RULE_NAMES = Object.keys(RULES);

/** The names of the rules that the pods of a template would break. */
export function violationsOf({ metadata, spec }: V1PodTemplateSpec): string[] {
  if (spec === undefined) {
    throw new Error('A pod template without a specification.');
  }
  const containers: Container[] = [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])];
  const pod: Pod = { spec, annotations: metadata?.annotations ?? {}, containers };
  return RULE_NAMES.filter((name) => RULES[name]?.(pod));
}
