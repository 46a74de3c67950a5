import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parseTokensFile } from '../../src/platform/auth/declared/tokens-file.js';
import { digestOf, generateToken } from '../../src/platform/auth/token-format.js';
import { readConfiguration } from '../../src/platform/config/read-configuration.js';
import { testDirectory } from '../support/test-database.js';
import { containerOf, exampleSecret, expectRestricted, Manifests, overlays, production } from './support/manifests.js';
import { faultsOf } from './support/strict-models.js';

/** An overlay in which somebody has uncommented the line that it has for this. */
function withTokens(overlay: string): Manifests {
  const directory = mkdtempSync(join(testDirectory(), 'kubernetes-'));
  cpSync('deploy/kubernetes', directory, { recursive: true });
  const path = join(directory, 'overlays', overlay, 'kustomization.yaml');
  writeFileSync(path, readFileSync(path, 'utf8').replace(/^# (?=components: )/m, ''));
  return Manifests.of(overlay, directory);
}

const secret = exampleSecret('components/declared-tokens');
const { tokens: example = '' } = secret.stringData;

it.each(overlays)(
  '%s with tokens of a Secret reads its file, wherever that changes, and differs in nothing else',
  (overlay, without) => {
    const manifests = withTokens(overlay);
    const container = containerOf(manifests.pod);
    const { AUTH_TOKENS_FILE = '' } = readConfiguration(manifests.environmentOf(container));
    const mount = { name: 'tokens', mountPath: dirname(AUTH_TOKENS_FILE), readOnly: true };
    expect(manifests.pod.volumes).toContainEqual({ name: 'tokens', secret: { secretName: secret.metadata.name } });
    expect(Object.keys(secret.stringData)).toEqual([basename(AUTH_TOKENS_FILE)]);
    expect(secret.metadata.namespace).toBe(production.deployment.metadata.namespace);

    for (const document of [...manifests.all, secret]) expect(faultsOf(document)).toEqual([]);
    expectRestricted(manifests.deployment.spec.template);
    const others = ({ all }: Manifests) => all.filter(({ kind }) => kind !== 'Deployment');
    expect(others(manifests)).toEqual(others(without));
    const { env = [], volumeMounts = [], ...rest } = containerOf(manifests.pod);
    const { env: envBefore = [], volumeMounts: mountsBefore = [], ...restBefore } = containerOf(without.pod);
    expect(rest).toEqual(restBefore);
    expect(envBefore.map(({ name }) => name)).not.toContain('AUTH_TOKENS_FILE');
    expect(env.filter(({ name }) => name !== 'AUTH_TOKENS_FILE')).toEqual(envBefore);
    expect(volumeMounts).toEqual(expect.arrayContaining([...mountsBefore, mount]));
    expect(volumeMounts).toHaveLength(mountsBefore.length + 1);
  },
);

it('the example Secret declares tokens with and without scopes once it is filled in, and lets nobody in before', () => {
  const filled = example.replaceAll('SHA256', () => digestOf(generateToken()).toString('hex'));
  const { tokens, faults } = parseTokensFile(filled);
  expect([[...tokens.values()].map(({ name, scopes }) => [name, scopes]), faults]).toEqual([
    [
      ['deploy', 'all'],
      ['reports', ['items:read']],
      ['sync', ['items:read', 'items:write']],
    ],
    [],
  ]);
  expect(parseTokensFile(example).faults).toHaveLength(3);
});
