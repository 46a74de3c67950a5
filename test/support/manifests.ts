import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import * as kubernetes from '@kubernetes/client-node';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { expectCustom, isCustom } from './custom-resources.js';

export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: kubernetes.V1ObjectMeta & { name: string };
}

type Models = typeof kubernetes;
type NamesOf<Model> = Model extends `V1${infer Name}` ? Name : never;
/** The client's class for a kind, as which the tests read an object. */
type ModelOf<Kind extends string> = Kind extends 'HorizontalPodAutoscaler' ? 'V2HorizontalPodAutoscaler' : `V1${Kind}`;
type OfKind<Kind extends string> =
  ModelOf<Kind> extends keyof Models
    ? Models[ModelOf<Kind>] extends abstract new () => infer Instance
      ? Manifest & Required<Instance>
      : never
    : never;

interface Workload extends Manifest {
  spec?: { template?: kubernetes.V1PodTemplateSpec; jobTemplate?: { spec: { template: kubernetes.V1PodTemplateSpec } } };
}

const templateOf = ({ spec }: Workload) => spec?.template ?? spec?.jobTemplate?.spec.template;

/** The objects of one overlay, as they are sent to a cluster. */
export class Manifests {
  private constructor(readonly all: readonly Manifest[]) {}

  /** Renders `overlays/<overlay>`. */
  static of(overlay: string, directory = 'deploy/kubernetes'): Manifests {
    const { TEST_KUBECTL: kubectl = 'kubectl' } = process.env;
    const text = execFileSync(kubectl, ['kustomize', `${directory}/overlays/${overlay}`], { encoding: 'utf8' });
    return new Manifests(parseAllDocuments(text, { strict: true }).map((document) => document.toJS() as Manifest));
  }

  ofKind<Kind extends NamesOf<keyof Models>>(kind: Kind): OfKind<Kind>[] {
    return this.all.filter((manifest) => manifest.kind === kind) as OfKind<Kind>[];
  }

  only<Kind extends NamesOf<keyof Models>>(kind: Kind): OfKind<Kind> {
    const [manifest, ...others] = this.ofKind(kind);
    if (manifest === undefined || others.length > 0) {
      throw new Error(`There is not one ${kind}, but ${manifest ? others.length + 1 : 'none'}.`);
    }
    return manifest;
  }

  get deployment(): OfKind<'Deployment'> {
    return this.only('Deployment');
  }

  /** The pods that serve. */
  get pod(): kubernetes.V1PodSpec {
    return this.deployment.spec.template.spec as kubernetes.V1PodSpec;
  }

  /** All objects that create pods, by name. */
  get podTemplates(): Map<string, kubernetes.V1PodTemplateSpec> {
    const templates = this.all.map((manifest) => [manifest.metadata.name, templateOf(manifest as Workload)] as const);
    return new Map(templates.filter((entry): entry is [string, kubernetes.V1PodTemplateSpec] => entry[1] !== undefined));
  }

  /** Names of objects whose pods match a selector; by labels only, because all are in one namespace. */
  selectedBy({ matchLabels = {}, matchExpressions = [] }: kubernetes.V1LabelSelector = {}): string[] {
    const wanted = Object.entries(matchLabels).map(([key, value]) => ({ key, operator: 'In', values: [value] }));
    const found = [...this.podTemplates].filter(([, { metadata }]) =>
      [...wanted, ...matchExpressions].every(({ key, operator, values = [] }) => {
        expect(operator).toBe('In');
        return values.includes(metadata?.labels?.[key] ?? '');
      }),
    );
    return found.map(([name]) => name);
  }

  /** Environment of a container from the ConfigMap, the Secret and its own list. */
  environmentOf({ env = [], envFrom = [] }: kubernetes.V1Container): Record<string, string> {
    const shared = envFrom.map(({ configMapRef }) => (configMapRef ? this.only('ConfigMap').data : {}));
    const own = env.map(({ name, value, valueFrom }) => ({
      [name]: value ?? exampleSecret().stringData[valueFrom?.secretKeyRef?.key ?? ''] ?? '',
    }));
    return Object.assign({}, ...shared, ...own) as Record<string, string>;
  }
}

export const production = Manifests.of('production');
export const development = Manifests.of('development');

export const overlays = [
  ['production', production],
  ['development', development],
] as const;

export function containerOf({ containers: [container, ...others] }: kubernetes.V1PodSpec): kubernetes.V1Container {
  if (container === undefined || others.length > 0) {
    throw new Error('A pod has one container.');
  }
  return container;
}

/** The Secret that the manifests expect, with values that stand for real ones. */
export function exampleSecret(part = 'overlays/production'): OfKind<'Secret'> {
  return parse(readFileSync(`deploy/kubernetes/${part}/secret.example.yaml`, 'utf8')) as OfKind<'Secret'>;
}

/** Expects Kubernetes' own client to know the kind and every field of a document: it drops others. */
export function expectKnown(document: Manifest): void {
  if (isCustom(document)) return expectCustom(document);
  const known = kubernetes.loadYaml(stringify(document));
  expect(known?.constructor.name).toMatch(new RegExp(`^V\\d${document.kind}$`));
  expect(parse(kubernetes.dumpYaml(known))).toEqual(document);
}

/** Fields that the profile forbids, or that would bypass the checks of the only container. */
const FORBIDDEN = ['hostNetwork', 'hostPID', 'hostIPC', 'initContainers', 'ephemeralContainers'] as const;

/** Of the kinds that it allows, those that are in use. */
const VOLUMES = ['configMap', 'emptyDir', 'persistentVolumeClaim', 'secret'];

/**
 * Expects the pods of a template to have exactly the settings with which they are admitted by the profile "restricted" of the Pod
 * Security Standards (https://kubernetes.io/docs/concepts/security/pod-security-standards/), and no writable root.
 */
export function expectRestricted({ spec }: kubernetes.V1PodTemplateSpec): void {
  const { securityContext, volumes = [] } = spec as kubernetes.V1PodSpec;
  // The group of a volume is no privilege.
  const { fsGroup: _group, fsGroupChangePolicy: _policy, ...context } = securityContext ?? {};
  const seccompProfile = { type: 'RuntimeDefault' };
  expect(context).toEqual({ runAsNonRoot: true, runAsUser: 65_532, runAsGroup: 65_532, seccompProfile });
  const container = containerOf(spec as kubernetes.V1PodSpec);
  expect(container.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  });
  expect(FORBIDDEN.filter((name) => name in Object(spec))).toEqual([]);
  for (const { name: _name, ...source } of volumes) {
    expect(VOLUMES).toEqual(expect.arrayContaining(Object.keys(source)));
  }
  // Ports of the node, and hosts of probes and hooks.
  expect(JSON.stringify(container)).not.toMatch(/"host(?:Port|IP)?":/);
}
