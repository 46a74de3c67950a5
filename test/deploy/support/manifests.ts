import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type {
  V1ConfigMap,
  V1Deployment,
  V1Job,
  V1NetworkPolicy,
  V1ObjectMeta,
  V1PersistentVolumeClaim,
  V1PodDisruptionBudget,
  V1PodTemplateSpec,
  V1Secret,
  V1Service,
  V1ServiceAccount,
  V2HorizontalPodAutoscaler,
} from '@kubernetes/client-node';
import { parse, parseAllDocuments } from 'yaml';

/** What every object has. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: V1ObjectMeta & { name: string };
}

/** What the tests read an object of a kind as: the strict check of the models makes sure that it is that. */
interface Kinds {
  ConfigMap: Required<V1ConfigMap>;
  Deployment: Required<V1Deployment>;
  HorizontalPodAutoscaler: Required<V2HorizontalPodAutoscaler>;
  Job: Required<V1Job>;
  NetworkPolicy: Required<V1NetworkPolicy>;
  PersistentVolumeClaim: Required<V1PersistentVolumeClaim>;
  PodDisruptionBudget: Required<V1PodDisruptionBudget>;
  Secret: Required<V1Secret>;
  Service: Required<V1Service>;
  ServiceAccount: V1ServiceAccount;
}

type OfKind<Kind extends keyof Kinds> = Manifest & Kinds[Kind];

/** The objects of one overlay, as they are sent to a cluster. */
export class Manifests {
  private constructor(readonly all: readonly Manifest[]) {}

  /**
   * Renders `overlays/<overlay>`.
   *
   * @param directory - where the overlays and what they are made of are
   */
  static of(overlay: string, directory = 'deploy/kubernetes'): Manifests {
    const { TEST_KUBECTL: kubectl } = process.env;
    if (!kubectl) {
      throw new Error('These tests need kubectl: set TEST_KUBECTL, for example to what `bash .ci/kubectl/install` prints.');
    }
    const text = execFileSync(kubectl, ['kustomize', `${directory}/overlays/${overlay}`], { encoding: 'utf8' });
    return new Manifests(parseAllDocuments(text, { strict: true }).map((document) => document.toJS() as Manifest));
  }

  ofKind<Kind extends keyof Kinds>(kind: Kind): OfKind<Kind>[] {
    return this.all.filter((manifest) => manifest.kind === kind) as OfKind<Kind>[];
  }

  /** The only one of its kind. */
  only<Kind extends keyof Kinds>(kind: Kind): OfKind<Kind> {
    const [manifest, ...others] = this.ofKind(kind);
    if (manifest === undefined || others.length > 0) {
      throw new Error(`There is not one ${kind}, but ${manifest ? others.length + 1 : 'none'}.`);
    }
    return manifest;
  }

  get deployment(): OfKind<'Deployment'> {
    return this.only('Deployment');
  }

  get job(): OfKind<'Job'> {
    return this.only('Job');
  }

  get autoscaler(): OfKind<'HorizontalPodAutoscaler'> {
    return this.only('HorizontalPodAutoscaler');
  }

  /** The variables that the pods share. */
  get configuration(): Record<string, string> {
    return this.only('ConfigMap').data;
  }

  /** What makes pods, by the name of the object that makes them. */
  get podTemplates(): Map<string, V1PodTemplateSpec> {
    const workloads = this.all.filter(hasPodTemplate);
    return new Map(workloads.map(({ metadata, spec }) => [metadata.name, spec.template]));
  }

  /** The names of those whose pods a selector finds; labels alone, as all are in one namespace. */
  selectedBy(labels: Record<string, string> = {}): string[] {
    const found = [...this.podTemplates].filter(([, { metadata }]) =>
      Object.entries(labels).every(([name, value]) => metadata?.labels?.[name] === value),
    );
    return found.map(([name]) => name);
  }
}

/**
 * The Secret that the manifests expect, with values that stand for real ones.
 *
 * @param part - of the manifests that it belongs to
 */
export function exampleSecret(part = 'overlays/production'): OfKind<'Secret'> {
  const path = `deploy/kubernetes/${part}/secret.example.yaml`;
  return parse(readFileSync(path, 'utf8')) as OfKind<'Secret'>;
}

/** Any object with a pod template: of whatever kind, so that no new one escapes the tests. */
function hasPodTemplate(manifest: Manifest): manifest is Manifest & { spec: { template: V1PodTemplateSpec } } {
  return 'spec' in manifest && typeof manifest.spec === 'object' && manifest.spec !== null && 'template' in manifest.spec;
}
