import { readFileSync } from 'node:fs';
import * as kubernetes from '@kubernetes/client-node';
import type { Manifest } from './manifests.js';

/**
 * Checks documents against the models of Kubernetes' own client, which are generated from its OpenAPI description. The
 * client itself drops fields that it does not know and takes any type; here both are faults, as are missing fields.
 */
interface Attribute {
  /** As it is written in a document. */
  baseName: string;
  type: string;
  format: string;
}

interface Model {
  attributes: Attribute[];
  required: string[];
}

/** The kinds in use; a model does not tell the group that it belongs to. */
const API_VERSIONS: Record<string, string> = {
  ConfigMap: 'v1',
  Deployment: 'apps/v1',
  HorizontalPodAutoscaler: 'autoscaling/v2',
  Job: 'batch/v1',
  NetworkPolicy: 'networking.k8s.io/v1',
  PersistentVolumeClaim: 'v1',
  PodDisruptionBudget: 'policy/v1',
  Secret: 'v1',
  Service: 'v1',
  ServiceAccount: 'v1',
};

/** The values of strings that are enumerations: the models say them in prose only. */
const WORDS: Record<string, readonly string[]> = {
  'V1Container.imagePullPolicy': ['Always', 'IfNotPresent', 'Never'],
  'V1ContainerPort.protocol': ['TCP', 'UDP', 'SCTP'],
  'V1DeploymentStrategy.type': ['Recreate', 'RollingUpdate'],
  'V1HTTPGetAction.scheme': ['HTTP', 'HTTPS'],
  'V1LabelSelectorRequirement.operator': ['In', 'NotIn', 'Exists', 'DoesNotExist'],
  'V1NetworkPolicyPort.protocol': ['TCP', 'UDP', 'SCTP'],
  'V1NetworkPolicySpec.policyTypes': ['Ingress', 'Egress'],
  'V1PersistentVolumeClaimSpec.accessModes': ['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod'],
  'V1PodDisruptionBudgetSpec.unhealthyPodEvictionPolicy': ['IfHealthyBudget', 'AlwaysAllow'],
  'V1PodSecurityContext.fsGroupChangePolicy': ['OnRootMismatch', 'Always'],
  'V1PodSpec.restartPolicy': ['Always', 'OnFailure', 'Never'],
  'V1SeccompProfile.type': ['RuntimeDefault', 'Localhost', 'Unconfined'],
  'V1ServicePort.protocol': ['TCP', 'UDP', 'SCTP'],
  'V1ServiceSpec.type': ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'],
  'V1TopologySpreadConstraint.nodeTaintsPolicy': ['Honor', 'Ignore'],
  'V1TopologySpreadConstraint.whenUnsatisfiable': ['DoNotSchedule', 'ScheduleAnyway'],
  'V2HPAScalingPolicy.type': ['Pods', 'Percent'],
  'V2MetricSpec.type': ['ContainerResource', 'External', 'Object', 'Pods', 'Resource'],
  'V2MetricTarget.type': ['AverageValue', 'Utilization', 'Value'],
};

/** Strings that are amounts, like `512Mi`. */
const QUANTITIES = new Set([
  'V1EmptyDirVolumeSource.sizeLimit',
  'V1ResourceRequirements.limits',
  'V1ResourceRequirements.requests',
  'V1VolumeResourceRequirements.limits',
  'V1VolumeResourceRequirements.requests',
  'V2MetricTarget.averageValue',
  'V2MetricTarget.value',
]);

/** "Quantity" in the Kubernetes API reference, without exponents. */
const QUANTITY = /^[0-9]+(?:\.[0-9]+)?(?:[numkMGTPE]|[KMGTPE]i)?$/;

/** What in a document an API server would refuse or drop, each as `path: fault`. */
export function faultsOf(document: Manifest): string[] {
  const { kind, apiVersion } = document;
  const expected = API_VERSIONS[kind];
  if (expected === undefined || expected !== apiVersion) {
    return [`${kind}: ${apiVersion} is not its API version, or the kind is not known here`];
  }
  const version = apiVersion.replace(/^.*\//, '').toUpperCase();
  return check(document, `${version}${kind}`, '', kind, `${version}${kind}`);
}

/** The names in the tables above that no model has. */
export function unknownTableEntries(): string[] {
  return [...Object.keys(WORDS), ...QUANTITIES].filter((entry) => {
    const [model = '', field] = entry.split('.');
    return !modelOf(model)?.attributes.some(({ baseName }) => baseName === field);
  });
}

/** @param field - where the type is written, as `Model.field` */
function check(value: unknown, type: string, format: string, path: string, field: string): string[] {
  const [, element] = /^Array<(.+)>$/.exec(type) ?? [];
  if (element !== undefined) {
    return Array.isArray(value)
      ? value.flatMap((item, index) => check(item, element, format, `${path}[${index}]`, field))
      : [`${path}: not a list`];
  }
  const [, entry] = /^\{ \[key: string\]: (.+); \}$/.exec(type) ?? [];
  if (entry !== undefined) {
    return isObject(value)
      ? Object.entries(value).flatMap(([key, item]) => check(item, entry, format, `${path}.${key}`, field))
      : [`${path}: not a map`];
  }
  const model = modelOf(type);
  return model ? checkModel(value, type, model, path) : checkScalar(value, type, format, path, field);
}

function checkModel(value: unknown, type: string, { attributes, required }: Model, path: string): string[] {
  if (!isObject(value)) {
    return [`${path}: not a ${type}`];
  }
  const missing = required.filter((name) => !(name in value)).map((name) => `${path}.${name}: missing`);
  const faults = Object.entries(value).flatMap(([name, item]) => {
    const attribute = attributes.find(({ baseName }) => baseName === name);
    return attribute
      ? check(item, attribute.type, attribute.format, `${path}.${name}`, `${type}.${name}`)
      : [`${path}.${name}: no field of ${type}`];
  });
  return [...missing, ...faults];
}

function checkScalar(value: unknown, type: string, format: string, path: string, field: string): string[] {
  const isScalar = SCALARS[type];
  if (!isScalar) {
    throw new Error(`The models have a type that this check does not know: ${type}`);
  }
  if (!isScalar(value, format)) {
    return [`${path}: not a ${format || type}`];
  }
  const words = WORDS[field];
  if (words && !words.includes(String(value))) {
    return [`${path}: not one of ${words.join(', ')}`];
  }
  return QUANTITIES.has(field) && !QUANTITY.test(String(value)) ? [`${path}: not a quantity`] : [];
}

const isInteger = (value: unknown, format: string) =>
  Number.isSafeInteger(value) && (format !== 'int32' || value === ((value as number) | 0));

const SCALARS: Record<string, (value: unknown, format: string) => boolean> = {
  string: (value, format) =>
    typeof value === 'string' && (format !== 'byte' || /^(?:[\w+/]{4})*(?:[\w+/]{2}==|[\w+/]{3}=)?$/.test(value)),
  boolean: (value) => typeof value === 'boolean',
  number: (value, format) => typeof value === 'number' && (format === 'double' || isInteger(value, format)),
  IntOrString: (value) => typeof value === 'string' || isInteger(value, 'int32'),
  Date: (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value)),
  any: () => true,
};

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function modelOf(type: string): Model | undefined {
  const generated = (kubernetes as unknown as Record<string, { getAttributeTypeMap?: () => Attribute[] } | undefined>)[type];
  if (generated?.getAttributeTypeMap === undefined) {
    return undefined;
  }
  // Only the declaration says what is required: `'name': string` is, `'name'?: string` is not.
  const declaration = readFileSync(`node_modules/@kubernetes/client-node/dist/gen/models/${type}.d.ts`, 'utf8');
  const required = [...declaration.matchAll(/^ {4}'_?(\w+)': /gm)].map(([, name = '']) => name);
  return { attributes: generated.getAttributeTypeMap(), required };
}
