import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parseTokensFile } from '../../src/platform/auth/declared/tokens-file.js';
import { digestOf, generateToken } from '../../src/platform/auth/token-format.js';
import { readConfiguration } from '../../src/platform/config/read-configuration.js';
import { testDirectory } from '../support/test-database.js';
import { exampleSecret, Manifests } from './support/manifests.js';
import { containerOf, environmentOf, overlays, podOf } from './support/overlays.js';
import { expectRestricted } from './support/restricted-profile.js';
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

describe.each(overlays)('%s with tokens of a Secret', (overlay, without) => {
  const manifests = withTokens(overlay);
  const container = containerOf(podOf(manifests));
  const volume = podOf(manifests).volumes?.find(({ name }) => name === 'tokens');
  const mount = container.volumeMounts?.find(({ name }) => name === 'tokens');

  it('reads the file of the Secret, wherever that changes', () => {
    const { AUTH_TOKENS_FILE = '' } = readConfiguration(environmentOf(manifests, container));
    expect(mount).toEqual({ name: 'tokens', mountPath: dirname(AUTH_TOKENS_FILE), readOnly: true });
    expect(volume).toEqual({ name: 'tokens', secret: { secretName: secret.metadata.name } });
    expect(Object.keys(secret.stringData)).toEqual([basename(AUTH_TOKENS_FILE)]);
    expect(secret.metadata.namespace).toBe(overlays[0][1].deployment.metadata.namespace);
  });

  it('is as safe as without, and adds nothing else', () => {
    for (const document of [...manifests.all, secret]) expect(faultsOf(document)).toEqual([]);
    expectRestricted(manifests.deployment.spec.template);
    const others = ({ all }: Manifests) => all.filter(({ kind }) => kind !== 'Deployment');
    expect(others(manifests)).toEqual(others(without));
    const { env = [], volumeMounts = [], ...rest } = container;
    const { env: envWithout = [], volumeMounts: volumeMountsWithout = [], ...restWithout } = containerOf(podOf(without));
    expect(rest).toEqual(restWithout);
    expect(environmentOf(without, containerOf(podOf(without)))).not.toHaveProperty('AUTH_TOKENS_FILE');
    expect(env.filter(({ name }) => name !== 'AUTH_TOKENS_FILE')).toEqual(envWithout);
    expect(volumeMounts.filter(({ name }) => name !== 'tokens')).toEqual(volumeMountsWithout);
  });
});

describe('the example Secret', () => {
  it('declares tokens with and without scopes once it is filled in, and lets nobody in before', () => {
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
});
