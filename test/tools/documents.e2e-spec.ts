import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

// What the documents name exists: files, headings, scripts, settings, metrics, and texts of the log.

const DOCUMENTS = globSync(['*.md', 'docs/**/*.md', 'deploy/*/README.md', 'bench/README.md', 'clients/*/README.md']).map(
  (path) => ({
    path,
    text: readFileSync(path, 'utf8'),
  }),
);
/** Those that describe the service as it is now. */
const CURRENT = DOCUMENTS.filter(({ path }) => path !== 'CHANGELOG.md');
/** Those for operators and developers of modules. */
const GUIDES = CURRENT.filter(({ path }) => !/^(?:bench|docs\/adr)\//.test(path));
/** Where settings are: of the service, its tests and benchmarks, its image, and what it runs with. */
const CODE = [
  '{src,test,bench,tools}/**/*.{ts,js}',
  '{.ci,deploy}/**/*',
  '.env.example',
  'compose.yaml',
  'Dockerfile',
  '*.js',
];
const NAMES = new Set(
  globSync(CODE)
    .filter((path) => !path.includes('node_modules') && !path.endsWith('.md') && statSync(path).isFile())
    .flatMap((path) => readFileSync(path, 'utf8').match(/\b[A-Z][A-Z0-9_]+\b/g) ?? []),
);

/** The code in a text: spans, and the lines of blocks. */
function codeIn(text: string): string[] {
  const blocks = [...text.matchAll(/^ *```\w*\n([^]*?)^ *```/gm)].map(([, block = '']) => block);
  const prose = text.replaceAll(/^ *```\w*\n[^]*?^ *```/gm, '');
  return [
    ...blocks.flatMap((block) => block.split('\n')),
    ...[...prose.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span),
  ];
}

/** The anchors that the headings of a document have on GitHub. */
function anchorsOf(text: string): string[] {
  const headings = text.replaceAll(/^ *```\w*\n[^]*?^ *```/gm, '').matchAll(/^#+ (.*)$/gm);
  return Array.from(headings, ([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function missing(found: (document: { path: string; text: string }) => string[], documents = CURRENT): string[] {
  return documents.flatMap((document) => [...new Set(found(document))].map((what) => `${document.path}: ${what}`));
}

it('every relative link leads to a file and one of its headings', () => {
  const broken = missing(
    ({ path, text }) =>
      [...text.matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].flatMap(([, link = '']) => {
        const [file = '', anchor] = link.split('#', 2);
        const target = file === '' ? path : join(dirname(path), file);
        if (!existsSync(target)) return [link];
        return anchor === undefined || anchorsOf(readFileSync(target, 'utf8')).includes(anchor) ? [] : [link];
      }),
    DOCUMENTS,
  );
  expect(broken).toEqual([]);
});

it('every document and heading to which messages and comments of the source lead exists', () => {
  const named = globSync('{src,tools,clients}/**/*.{ts,js,yaml,json}', { exclude: ['**/node_modules/**'] }).flatMap((path) =>
    Array.from(readFileSync(path, 'utf8').matchAll(/\b(docs\/[\w/-]+\.md)(?:#([\w-]+))?/g), ([link, file = '', anchor]) => {
      const exists = existsSync(file) && (anchor === undefined || anchorsOf(readFileSync(file, 'utf8')).includes(anchor));
      return exists ? undefined : `${path}: ${link}`;
    }),
  );
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((link) => link !== undefined)).toEqual([]);
});

it('no line begins with a comment that has words behind it, which would be shown as they are written', () => {
  expect(missing(({ text }) => text.match(/^ *<!--.*-->.*\S.*$/gm) ?? [])).toEqual([]);
});

it('every script of npm and every file of this repository exists', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  const inFolder = /^(?:src|test|bench|docs|deploy|tools|clients|\.ci)\/[\w./-]*\w$/;
  // Fixtures are features of the guide, and gadgets what its reader makes. A Deployment is written `deploy/…` as well.
  const placesOf = (path: string) => [
    path,
    `${path}.*`,
    path.replace('src/', 'test/fixtures/'),
    join('clients/typescript', path),
  ];
  const isElsewhere = (path: string) => path.includes('gadget') || path === 'deploy/items-service';
  const unknown = missing(({ text }) =>
    codeIn(text).flatMap((code) => {
      const runs = [...code.matchAll(/npm run (?:--silent )?([\w:-]+)/g)].map(([, name = '']) => name);
      const paths = code.split(/[\s:]/).filter((word) => inFolder.test(word) && !isElsewhere(word));
      return runs.filter((name) => !(name in scripts)).concat(paths.filter((path) => globSync(placesOf(path)).length === 0));
    }),
  );
  expect(unknown).toEqual([]);
});

it('the last version of CHANGELOG.md is that of the package, of the API and of the image that the manifests deploy', () => {
  const read = (path: string, version: RegExp) => version.exec(readFileSync(path, 'utf8'))?.[1];
  const released = read('CHANGELOG.md', /^## (\d\S+) – \d{4}-\d\d-\d\d$/m);
  expect(released).toMatch(/^\d+\.\d+\.\d+$/);
  expect([
    read('package.json', /"version": "(.*?)"/),
    read('package-lock.json', /"version": "(.*?)"/),
    read('openapi.json', /^ {4}"version": "(.*?)"/m),
    read('deploy/kubernetes/overlays/production/kustomization.yaml', /&version (.*)/),
  ]).toEqual(Array.from({ length: 4 }, () => released));
});

it('only the files that docs/start-your-own.md names have to change if the example is removed', () => {
  const [, deletions = '', mentions = ''] =
    /^1\. (Delete `src[^]*?), and each[^]*?^2\. (In [^]*?), delete both/m.exec(
      readFileSync('docs/start-your-own.md', 'utf8'),
    ) ?? [];
  const [example = '', ...others] = codeIn(deletions);
  const deleted = [example, ...others, 'tools/guarantees', 'tools/mutants'].map((path) => `${path}/`);
  const left = globSync('{src,test,tools,clients}/**/*.{ts,js}').filter(
    (path) => !/node_modules|e2e-spec/.test(path) && !deleted.some((folder) => path.startsWith(folder)),
  );
  const ofExample = new RegExp(`from '[^']*${example.slice('src'.length)}/`);
  const importing = left.filter((path) => ofExample.test(readFileSync(path, 'utf8')));
  expect(importing.toSorted()).toEqual(codeIn(mentions).toSorted());
});

it('every setting exists', () => {
  // Of OpenTelemetry, of a feature that the reader makes, and for the reader to fill in.
  const others = /^(?:OTEL_\w+|OTLP_TRACES|GADGET_SIZES|TENANT_ID)$/;
  const unknown = missing(({ text }) =>
    codeIn(text).flatMap((code) =>
      [...code.matchAll(/(?<![\w$.-])[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9](?![\w-]|\()/g)]
        .map(([name]) => name)
        .filter((name) => !NAMES.has(name) && !others.test(name)),
    ),
  );
  expect(unknown).toEqual([]);
});

it('every text of the log exists', () => {
  const source = globSync('src/**/*.ts')
    .map((path) => readFileSync(path, 'utf8'))
    .join('\n');
  const command = /^(?:docker|generate|git|issue|kubectl|node|npm|revoke|token) /;
  const texts = missing(
    ({ text }) =>
      [...text.matchAll(/`([a-z][a-z'-]+(?: [\w'-]+)+)`/g)]
        .map(([, words = '']) => words)
        // What Node.js prints.
        .filter((words) => !command.test(words) && words !== 'heap out of memory' && !source.includes(words)),
    GUIDES,
  );
  expect(texts).toEqual([]);
});
