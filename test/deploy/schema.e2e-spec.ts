import { exampleSecret, type Manifest, overlays, production } from './support/manifests.js';
import { faultsOf, unknownTableEntries } from './support/strict-models.js';

const documents = [...overlays.flatMap(([, { all }]) => all), exampleSecret()];

it.each(documents.map((document) => [document.metadata.namespace, document.kind, document.metadata.name, document] as const))(
  "Kubernetes' models know every field of %s: %s %s",
  (_namespace, _kind, _name, document) => {
    expect(faultsOf(document)).toEqual([]);
  },
);

it('the tables of the check name fields that exist', () => {
  expect(unknownTableEntries()).toEqual([]);
});

const container = 'spec.template.spec.containers.0';
const probe = `${container}.livenessProbe`;
const secret = exampleSecret();
const [policy = secret] = production.ofKind('NetworkPolicy');

it.each<[what: string, path: string, value: unknown, fault: string, document?: Manifest]>([
  ['an unknown field in a list', `${container}.port`, 80, '.containers[0].port: no field of V1Container'],
  ['text for a number', `${probe}.periodSeconds`, '10', '.livenessProbe.periodSeconds: not a int32'],
  ['a number beyond 32 bits', 'spec.minReadySeconds', 2 ** 31, 'Deployment.spec.minReadySeconds: not a int32'],
  ['a number in a map of text', 'spec.selector.matchLabels.app', 1, 'Deployment.spec.selector.matchLabels.app: not a string'],
  ['text for a boolean', 'spec.paused', 'true', 'Deployment.spec.paused: not a boolean'],
  ['a list for a map', 'metadata.labels', [], 'Deployment.metadata.labels: not a map'],
  ['a map for a list', `${container}.args`, {}, '.args: not a list'],
  ['text for a model', 'spec.strategy', 'Recreate', 'Deployment.spec.strategy: not a V1DeploymentStrategy'],
  ['a boolean for a number or text', `${probe}.httpGet.port`, true, 'httpGet.port: not a int-or-string'],
  ['a word that is none', `${container}.imagePullPolicy`, 'Sometimes', 'not one of Always, IfNotPresent, Never'],
  ['a quantity that is none', `${container}.resources.limits.memory`, '512MB', '.resources.limits.memory: not a quantity'],
  ['a missing field', `${container}.name`, undefined, '.containers[0].name: missing'],
  ['the wrong version', 'apiVersion', 'apps/v1beta1', 'Deployment: apps/v1beta1 is not its API version'],
  ['an unknown kind', 'kind', 'Deploiment', 'Deploiment: apps/v1 is not its API version, or the kind is not known here'],
  ['a date that is none', 'metadata.creationTimestamp', 'today', 'Deployment.metadata.creationTimestamp: not a date-time'],
  ['text that is not Base64', 'data', { REDIS_URL: 'redis://' }, 'Secret.data.REDIS_URL: not a byte', secret],
  ['a name of the client', 'spec.ingress.0._from', [], 'spec.ingress[0]._from: no field of V1NetworkPolicyIngressRule', policy],
])('the check finds %s', (_what, path, value, fault, document = production.deployment) => {
  const names = path.split('.');
  const last = names.pop() ?? '';
  const copy: Record<string, unknown> = structuredClone({ ...document });
  const parent = names.reduce((part, name) => part[name] as Record<string, unknown>, copy);
  // JSON has no undefined.
  parent[last] = value;
  expect(faultsOf(JSON.parse(JSON.stringify(copy)) as Manifest)).toEqual([expect.stringContaining(fault)]);
});
