import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { V1LabelSelector, V1PodSpec } from '@kubernetes/client-node';
import { parse } from 'yaml';
import { parseTokensFile } from '../../src/platform/auth/static/static-tokens.js';
import { tokenDigest, generateToken } from '../../src/platform/auth/token-format.js';
import { readConfiguration } from '../../src/platform/config/read-configuration.js';
import { containerOf, exampleSecret, expectKnown, expectRestricted } from '../support/manifests.js';
import { type Manifest, Manifests, overlays, production } from '../support/manifests.js';
import { testDirectory } from '../support/test-database.js';

const secret = exampleSecret('components/static-tokens');

/** An overlay after a part of one of its files has been replaced. */
function withReplaced(overlay: string, file: string, part: RegExp | string, replacement: string): Manifests {
  const directory = mkdtempSync(join(testDirectory(), 'kubernetes-'));
  cpSync('deploy/kubernetes', directory, { recursive: true });
  const path = join(directory, 'overlays', overlay, file);
  const text = readFileSync(path, 'utf8');
  const replaced = text.replace(part, () => replacement);
  expect(replaced).not.toBe(text);
  writeFileSync(path, replaced);
  const manifests = Manifests.of(overlay, directory);
  for (const document of manifests.all) expectKnown(document);
  return manifests;
}

/** An overlay with the line of a component uncommented. */
function withComponent(overlay: string, component: string): Manifests {
  const line = `- ../../components/${component}\n`;
  return withReplaced(overlay, 'kustomization.yaml', `  # ${line}`, `  ${line}`);
}

function only(manifests: Manifests, kind: string): Manifest & { spec: Record<string, unknown> } {
  const found = manifests.all.filter((manifest) => manifest.kind === kind);
  expect(found).toHaveLength(1);
  return found[0] as ReturnType<typeof only>;
}

it.each(overlays)(
  '%s reads tokens from a file of the Secret, which is updated with it, and so does the doctor',
  (overlay) => {
    const manifests = withComponent(overlay, 'static-tokens');
    expectKnown(secret);
    const pods = [manifests.pod, ...manifests.ofKind('CronJob').map(({ spec }) => spec.jobTemplate.spec?.template.spec)];
    expect(pods).toHaveLength(overlay === 'production' ? 2 : 1);
    for (const pod of pods as V1PodSpec[]) {
      expectRestricted({ spec: pod });
      const container = containerOf(pod);
      const { AUTH_TOKENS_FILE = '', ...others } = manifests.environmentOf(container);
      readConfiguration(others);
      // A subPath would not follow the Secret.
      expect(container.volumeMounts).toContainEqual({
        name: 'tokens',
        mountPath: dirname(AUTH_TOKENS_FILE),
        readOnly: true,
      });
      expect(pod.volumes).toContainEqual({ name: 'tokens', secret: { secretName: secret.metadata.name } });
      expect(Object.keys(secret.stringData)).toEqual([basename(AUTH_TOKENS_FILE)]);
    }
    expect(secret.metadata.namespace).toBe(production.deployment.metadata.namespace);
  },
);

it.each(overlays)('%s trusts private authorities in every pod, and so do the tools', (overlay) => {
  const manifests = withComponent(overlay, 'private-ca');
  const pods = [...manifests.podTemplates.values()].map(({ spec }) => spec as V1PodSpec);
  expect(pods).toHaveLength(overlay === 'production' ? 3 : 1);
  const [, name = '', key = ''] =
    /create configmap (\S+) --from-file=(\S+)/.exec(readFileSync('deploy/kubernetes/README.md', 'utf8')) ?? [];
  for (const pod of pods) {
    expectRestricted({ spec: pod });
    const container = containerOf(pod);
    const mountPath = `/etc/${name}`;
    const variables = container.env?.filter((variable) => variable.name === 'NODE_EXTRA_CA_CERTS');
    expect(variables).toEqual([{ name: 'NODE_EXTRA_CA_CERTS', value: `${mountPath}/${key}` }]);
    expect(container.volumeMounts).toContainEqual({ name, mountPath, readOnly: true });
    expect(pod.volumes).toContainEqual({ name, configMap: { name } });
  }
  const tools = parse(readFileSync('deploy/kubernetes/tools.yaml', 'utf8')) as { spec: V1PodSpec };
  expect(tools.spec.volumes).toContainEqual({ name, configMap: { name, optional: true } });
  for (const { volumeMounts } of tools.spec.containers)
    expect(volumeMounts).toContainEqual({ name, mountPath: `/etc/${name}`, readOnly: true });
});

it('production reads the password of the database from the Secret of the guide, which is updated with it', () => {
  const [, yaml = ''] = /^ {2}```yaml\n([^]+?)^ {2}```/m.exec(readFileSync('deploy/kubernetes/README.md', 'utf8')) ?? [];
  const [env = '', ...mounts] = yaml.replaceAll(/^ {2}/gm, '').split(/^(?= *volumeMounts:)/m);
  const variable = / *- name: DATABASE_URL\n +valueFrom:(?:\n {16}.*)+\n([^]+)/;
  const { 1: others = '' } =
    variable.exec(readFileSync('deploy/kubernetes/overlays/production/deployment.yaml', 'utf8')) ?? [];
  const pod = withReplaced(
    'production',
    'deployment.yaml',
    variable,
    env.replace(/ *env:\n/, '') + others + mounts.join(''),
  ).pod;
  const { env: variables = [], volumeMounts } = containerOf(pod);
  const url = variables.filter(({ name }) => name === 'DATABASE_URL');
  expect(url).toEqual([{ name: 'DATABASE_URL', value: expect.stringMatching(/^postgres:\/\/\w+@.*sslmode=verify-full$/) }]);
  const file = variables.find(({ name }) => name === 'DATABASE_PASSWORD_FILE')?.value ?? '';
  expect(volumeMounts).toEqual([{ name: 'passwords', mountPath: dirname(file), readOnly: true }]);
  expect(pod.volumes).toEqual([{ name: 'passwords', secret: { secretName: expect.any(String) } }]);
});

it('the example Secret declares tokens with and without scopes when it is filled in, and grants nothing before', () => {
  const { tokens: example = '' } = secret.stringData;
  const filled = example.replaceAll('SHA256', () => tokenDigest(generateToken()));
  const { tokens, faults } = parseTokensFile(filled);
  const scopes = ['all', ['items:read'], ['items:read', 'items:write']];
  expect([[...tokens.values()].map((token) => token.scopes), faults]).toEqual([scopes, []]);
  expect(parseTokensFile(example).faults).toHaveLength(3);
});

it.each(overlays)('%s has a route from a listener with TLS to the port of its Service', (overlay) => {
  const manifests = withComponent(overlay, 'http-route');
  const { metadata, spec } = manifests.only('Service');
  const route = only(manifests, 'HTTPRoute');
  const backend = { name: metadata.name, port: spec?.ports?.[0]?.port };
  expect(route.spec).toMatchObject({ rules: [{ backendRefs: [backend] }], parentRefs: [{ sectionName: 'https' }] });
  expect(route.metadata.namespace).toBe(metadata.namespace);
});

it('the network admits the namespace of the Gateway that the route names', () => {
  const [parent] = only(withComponent('production', 'http-route'), 'HTTPRoute').spec['parentRefs'] as {
    namespace: string;
  }[];
  const [policy] = production.ofKind('NetworkPolicy');
  const matchLabels = { 'kubernetes.io/metadata.name': parent?.namespace };
  expect(policy?.spec?.ingress?.[0]).toMatchObject({ from: [{ namespaceSelector: { matchLabels } }] });
});

it.each(overlays)('%s has its metrics read from the port of its pods', (overlay) => {
  const manifests = withComponent(overlay, 'pod-monitor');
  const { selector, podMetricsEndpoints } = only(manifests, 'PodMonitor').spec;
  expect(manifests.selectedBy(selector as V1LabelSelector)).toEqual([manifests.deployment.metadata.name]);
  const annotations = manifests.deployment.spec.template.metadata?.annotations ?? {};
  const named = containerOf(manifests.pod).ports?.find(
    ({ containerPort }) => `${containerPort}` === annotations['prometheus.io/port'],
  );
  expect(podMetricsEndpoints).toEqual([{ port: named?.name, path: annotations['prometheus.io/path'] }]);
});

it('the command of the README prefixes the links of the alerts with the address of a repository', () => {
  const [, command = ''] = /`(sed [^`]+)`/.exec(readFileSync('deploy/observability/README.md', 'utf8')) ?? [];
  const directory = mkdtempSync(join(testDirectory(), 'observability-'));
  cpSync('deploy/observability', directory, { recursive: true });
  execFileSync('sh', ['-euc', command], { cwd: directory });
  const links = [...readFileSync(join(directory, 'rules.yaml'), 'utf8').matchAll(/runbook_url: (.*)/g)];
  expect(links.length).toBeGreaterThan(10);
  for (const [, link] of links) expect(link).toMatch(/^https:\/\/[\w./-]+\/blob\/main\/docs\/operations\.md#items[a-z]+$/);
});

it('the pod of tools has the Secret, is admitted where the service is, and reaches what it reaches', () => {
  const pod = parse(readFileSync('deploy/kubernetes/tools.yaml', 'utf8')) as Manifest & { spec: V1PodSpec };
  expectKnown(pod);
  expect(pod.metadata.namespace).toBe(production.deployment.metadata.namespace);
  for (const container of pod.spec.containers) {
    expectRestricted({ spec: Object.assign({}, pod.spec, { containers: [container] }) });
    expect(container.envFrom).toEqual([{ secretRef: { name: exampleSecret().metadata.name } }]);
  }
  const { labels } = production.only('CronJob').spec.jobTemplate.spec?.template.metadata ?? {};
  expect(pod.metadata.labels).toEqual(labels);
});

it('the command of the README makes a PrometheusRule of the rules', () => {
  const [, command = ''] =
    /```sh\n( *\{ printf [^]*?)```/.exec(readFileSync('deploy/observability/README.md', 'utf8')) ?? [];
  expect(command).toContain('kubectl apply -n items -f -');
  const shell = command.replace('kubectl apply -n items -f -', 'cat');
  const rule = parse(execFileSync('sh', ['-euc', shell], { cwd: 'deploy/observability', encoding: 'utf8' })) as Manifest;
  expectKnown(rule);
  expect(rule.kind).toBe('PrometheusRule');
  const rules = parse(readFileSync('deploy/observability/items-service.rules.yaml', 'utf8')) as object;
  expect(rule).toMatchObject({ spec: rules });
});

const route = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  metadata: { name: 'items-service' },
  spec: {},
};

it.each([
  [
    'an unknown field',
    { ...route, spec: { parentRefs: [{ name: 'gateway', sectonName: 'https' }] } },
    /sectonName.* does not exist/,
  ],
  ['a missing field', { ...route, spec: { parentRefs: [{ sectionName: 'https' }] } }, /must have required property name/],
  ['a value of another type', { ...route, spec: { hostnames: 'api.example.com' } }, /hostnames must be array/],
  [
    'a value that does not match its pattern',
    { ...route, spec: { hostnames: ['https://example.com'] } },
    /must match pattern/,
  ],
  ['another version', { ...route, apiVersion: 'gateway.networking.k8s.io/v1alpha1' }, /must be equal to one of/],
])('the check of custom resources finds %s', (_fault, document, message) => {
  expect(() => expectKnown(document)).toThrow(message);
});
