import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { SERVICE_NAME } from '../../src/platform/service/service.js';
import { alertsIn, formsOf, inCaseOf } from '../../tools/rename/forms.js';
import { RULES } from '../support/observability-files.js';
import { copyProject, projectFiles, readText } from '../support/project-copy.js';
import { testDirectory } from '../support/test-database.js';

// What the renames of a service change. test/guide/rename does one, and runs what it makes.

/** Other names than that of the service. A feature of the tests has the first. */
const [first, second] = ['orders', 'library', 'parts'].filter((name) => name !== SERVICE_NAME) as [string, string];

const alerts = alertsIn(readText(RULES));
const rename = (text: string, from: string, to: string) =>
  text.replaceAll(formsOf(from, alerts), (found) => inCaseOf(found, to));

/** Without migrations, as the tool, and what is made of other files. */
const texts = projectFiles()
  .filter((path) => !/\/migrations\/|^package-lock\.json$|^test\/guarantees\.md$/.test(path))
  .map((path) => ({ path, text: readText(path) }))
  .filter(({ text }) => !text.includes('\0'));

/** How texts name `items`, the feature, its table, pages, and the word: all others are the service's. */
const OF_THE_FEATURE = [
  /\bv\d(?:\/|\\\/)(?:open-|\(\?:)?items\b/gi,
  /\bitems:(?:read|write|wri\\|l(?=é)|"read")/g,
  /\bitems\/(?:items?\.|migrations\b)|[/-]items\.(?:pipe\.)?[jt]s\b/g,
  /(?<=\b(?:dist|src|test|catalog|evil\.example)\/|^['"`]\/)items\b|'open-items'/g,
  /\bitems\.(?:module|controller|service|dto|e2e-spec)\b|\bitemsSql\b|\bofItems\b/g,
  /(?<=\|filter-oracle\|idempotency\|)items/g,
  /\b(?:FROM|INTO|TABLE|UPDATE|ANALYZE|VACUUM|SELECT|INSERT|ON|COPY|VIEW|TYPE|AS|TO)[ -](?:public\.|replica\.|\(\?:)?(?:\(\?:)?"?(?:stored_)?items\b/gi,
  /"items"\."name"|\(\?:items\|idempotency_keys|'SELECT%items%/gi,
  /\b(?:items)_(?:name|description)\w*_idx\b|\b(?:items)_pkey\b|(?<=\)"\)" = )items\b/g,
  /(?:\b|(?<=List|list|Create|create|Index|Open|count))Items(?=Module|Controller|Service\b(?!: )|Query|Page|Pipe|17672256|Responses?\b|Errors?\b|Data\b|\b(?! Service))/g,
  /(?<!=\\?|service: |name': |_AUDIENCE: |_name = |NAME = |^ *')["'`]items["'`](?!, 'Charges)/g,
  /["'\\]items\\?["']:|(?<![=/\w])items:(?= )|(?<!span)\.items\b/g,
  /[{,] ?items ?(?:=|\?|[,}])|\bitems\??(?:\.(?:map|length|push|rows|every|at)\b|\[)/g,
  /\b(?:all|an?|are|as|by|concurrent|creates?|existing|finds?|has|have|in|its|lists?|makes|million|more|Named|no|of|oneOf|other|page|same|share|that|the|these|two|whose|without|NTP:|-- |\d+) items\b/gi,
  /(?<=[%,}\]] )items\b|\(items\)|\[items …\]|(?<=--from )items\b|(?:npm test --|jest --) items\b|\bITEMS\b|\bmaxItems\b|\bminItems\b|`items`/g,
];

/** The code in a file: of a program its texts, of a document what is set as code. */
function codeOf({ path, text }: { path: string; text: string }): string[] {
  if (path.endsWith('.md')) {
    const blocks = [...text.matchAll(/^ *```\w*\n([^]*?)^ *```/gm)].map(([, block = '']) => block);
    const spans = text.replaceAll(/^ *```\w*\n[^]*?^ *```/gm, '').matchAll(/`[^`\n]+`/g);
    return [...blocks, ...[...spans].map(([span]) => span)].flatMap((code) => code.split('\n'));
  }
  if (!/\.[jt]s$/.test(path)) return text.split('\n');
  const code = text.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '');
  const quoted = /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|(?<=[=(,:[|&!] ?)\/(?:[^/\n\\]|\\.)+\/[a-z]*/g;
  return [...code.matchAll(quoted)].flatMap(([found]) => found.split('\n'));
}

/** Where a file has `items` and does not mean the feature. */
function placesOf(file: { path: string; text: string }): string[] {
  return [file.path, ...codeOf(file)].flatMap((code) => {
    const rest = OF_THE_FEATURE.reduce((left, form) => left.replaceAll(form, '·'), code);
    return /items/i.test(rest) ? [`${file.path}: ${code.trim()}`] : [];
  });
}

/** What names the service, where `%` is its name. */
const OF_THE_SERVICE = String.raw`
%_http_requests_total
%_…
namespace:%_ready
\b%_[0-9]
%-service
%-development
@%-service/client
realm="%"
realm=\"%\"
%.request.id
span.%.rate_limit.admitted
application_name = '%'
%:rate-limit:
postgres://%:secret@db:5432/%?sslmode=disable
CREATE DATABASE %;
POSTGRES_USER: %
# REDIS_KEY_PREFIX=%:
kubectl -n % get pods
kubectl create namespace %
namespace: %
docker compose exec % node
-v %:/data
name: %
  %:
up{job="%"}
  service: %
'service.name': '%'
AUTH_JWT_AUDIENCE: '%'
SERVICE_NAME = '%'`
  .split('\n')
  .slice(1);

it('leaves no name of the service, in any form', () => {
  const renamed = texts.map(({ path, text }) => ({
    path: rename(path, SERVICE_NAME, first),
    text: rename(text, SERVICE_NAME, first),
  }));
  // This list is not to be renamed itself.
  const own = 'test/tools/rename.e2e-spec.ts';
  expect(renamed.find(({ path }) => path === own)?.text).toBe(readText(own));
  expect(renamed.filter(({ path }) => path !== own).flatMap(placesOf)).toEqual([]);
});

it.each([...OF_THE_SERVICE, 'createI%Client', `I%${alerts[0]}`, `#%${alerts[0]?.toLowerCase()}`, 'I% Service'])(
  'renames %s, and would find it',
  (form) => {
    const text = form.replace('I%', 'Items').replaceAll('%', 'items');
    expect(placesOf({ path: 'a.yaml', text })).toHaveLength(1);
    expect(rename(text, 'items', first)).toBe(form.replace('I%', inCaseOf('I', first)).replaceAll('%', first));
  },
);

it.each([
  '/v1/%',
  '%:read',
  'src/%/%.module.ts',
  'SELECT * FROM %',
  '%_name_id_idx',
  "table: '%'",
  '{ "%": [] }',
  'one of the %',
])('leaves %s, which is of a feature', (form) => {
  expect(rename(form.replaceAll('%', SERVICE_NAME), SERVICE_NAME, first)).toBe(form.replaceAll('%', SERVICE_NAME));
});

it.each([
  [first, second],
  [second, first],
])('renames again what it renamed, from %s to %s, and no feature that has the name of the service', (one, other) => {
  for (const { path, text } of texts) {
    const once = rename(text, SERVICE_NAME, other);
    expect([path, rename(rename(text, SERVICE_NAME, one), one, other)]).toEqual([path, once]);
  }
});

describe('the command', () => {
  const directory = mkdtempSync(join(testDirectory(), 'rename-'));
  const run = (...args: string[]) =>
    spawnSync(process.execPath, ['tools/rename/rename.ts', ...args], { cwd: directory, encoding: 'utf8' });

  beforeAll(() => {
    const files = [
      'src/platform/service/service.ts',
      'tools/rename/rename.ts',
      'tools/rename/forms.ts',
      RULES,
      '.prettierrc.json',
    ];
    copyProject([...files, 'package.json', 'deploy/kubernetes/base/service.yaml'], directory);
  });

  it.each([
    ['no name', [], /^"" cannot begin metrics and names in DNS: write 2 to 20 of a-z and 0-9/],
    ['a name for DNS only', ['order-book'], /^"order-book" cannot begin metrics/],
    ['upper case', ['Orders'], /^"Orders" cannot begin metrics/],
    [
      'a prefix that Node.js has',
      ['nodejs'],
      /^Metrics of Node\.js and Prometheus begin with nodejs: choose another name\./,
    ],
    ['its own name', [SERVICE_NAME], /^The service has the name \w+ already\./],
  ])('refuses %s', (_case, args, message) => {
    expect(run(...args)).toMatchObject({ status: 1, stdout: '', stderr: expect.stringMatching(message) });
  });

  it('renames, refuses while there are changes, and takes a name from another version', () => {
    expect(run(first)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(`The service is ${first} instead of ${SERVICE_NAME}`),
    });
    expect(run(second)).toMatchObject({ status: 1, stderr: expect.stringContaining('commit or stash them') });
    commit();
    const path = join(directory, 'deploy/kubernetes/base/service.yaml');
    expect(readText(path)).toContain(`name: ${first}-service`);
    appendFileSync(path, `# ${SERVICE_NAME}-service\n`);
    commit();
    expect(run(first, '--from', SERVICE_NAME)).toMatchObject({ status: 0 });
    expect(readText(path)).toContain(`# ${first}-service\n`);
  });

  it('refuses a name that a feature has where the service would have it', () => {
    appendFileSync(join(directory, 'src/platform/service/service.ts'), `export const column = '${second}_sold';\n`);
    commit();
    const message = `src/platform/service/service.ts has ${second} where it would be the name of the service: choose another name.`;
    expect(run(second)).toMatchObject({ status: 1, stderr: expect.stringContaining(message) });
  });

  function commit(): void {
    const author = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com'];
    expect(spawnSync('git', [...author, 'commit', '-qam', 'Change'], { cwd: directory })).toMatchObject({ status: 0 });
  }
});
