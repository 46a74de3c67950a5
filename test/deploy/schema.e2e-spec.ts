import { Manifests, exampleSecret, type Manifest } from './support/manifests.js';
import { mutate } from './support/mutate.js';
import { faultsOf, unknownTableEntries } from './support/strict-models.js';

const production = Manifests.of('production');
const documents = [...production.all, ...Manifests.of('development').all, exampleSecret()];

it.each(documents.map((document) => [document.metadata.namespace, document.kind, document.metadata.name, document] as const))(
  "Kubernetes' models know every field of %s: %s %s",
  (_namespace, _kind, _name, document) => {
    expect(faultsOf(document)).toEqual([]);
  },
);

it('the tables of the check name fields that exist', () => {
  expect(unknownTableEntries()).toEqual([]);
});

describe('the check finds', () => {
  const container = 'spec.template.spec.containers.0';
  const probe = `${container}.livenessProbe`;

  it.each<[what: string, path: string, value: unknown, fault: string]>([
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
  ])('%s', (_what, path, value, fault) => {
    expect(faultsOf(mutate<Manifest>(production.deployment, path, value))).toEqual([expect.stringContaining(fault)]);
  });

  it('text in a Secret that is not Base64', () => {
    expect(faultsOf(mutate<Manifest>(exampleSecret(), 'data.REDIS_URL', 'redis://'))).toEqual([
      'Secret.data.REDIS_URL: not a byte',
    ]);
  });

  it('a name of the client that the API does not use', () => {
    const [policy] = production.ofKind('NetworkPolicy');
    const [fault] = faultsOf(mutate<Manifest>(policy as Manifest, 'spec.ingress.0._from', []));
    expect(fault).toBe('NetworkPolicy.spec.ingress[0]._from: no field of V1NetworkPolicyIngressRule');
  });
});
