import { globSync, readFileSync } from 'node:fs';

// How the documents for users are written: short, complete, and in plain technical English.

const read = (patterns: string[]) =>
  globSync(patterns)
    .toSorted()
    .map((path) => ({ path, text: readFileSync(path, 'utf8') }));

/** README.md and all guides, without what is generated. */
const GUIDES = read(['README.md', 'docs/*.md']).filter(({ path }) => path !== 'docs/api.md');

/** What a reader reads: no comments, no code, no targets of links. */
const prose = (markdown: string) =>
  markdown
    .replaceAll(/<!--[^]*?-->/g, '')
    .replaceAll(/^ *```\w*\n[^]*?^ *```/gm, '')
    .replaceAll(/`[^`\n]+`/g, '`code`')
    .replaceAll(/\]\([^)\s]+\)/g, ']');

/** The texts of an OpenAPI document, without its examples. */
function textsOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) => {
    if (name === 'example' || name === 'examples') return [];
    return typeof part === 'string' && /^(?:description|summary|title)$/.test(name) ? [part] : textsOf(part);
  });
}

/** Words that are not the field's own, or that have two meanings, and what to write instead. */
const UNUSED: Readonly<Record<string, RegExp>> = {
  'service, hand-written Node server, Nest as in its documentation': /\b(?:ours|base(?! (?:image|URL|backup))|textbook)\b/gi,
  'what, where or when it is': /\b(?:rooms?|doors?|lanes?)\b/gi,
  guarantee: /\bpromis(?:e|es|ed|ing)\b/gi,
  response: /\b(?:un)?answer(?:s|ed|ing)?\b/gi,
  'fix, down': /\b(?:mend(?:s|ed|ing)?|away)\b/gi,
  'who it is, no one': /\b(?:whoever|nobody|somebody|anybody|everybody)\b/gi,
  'CPU time': /\bprocessor time\b/gi,
  // Of Redis, a replica is what its command INFO calls so.
  'instance for a process, read replica for a database': /(?<!\bread |\bRedis is a )\breplicas?\b/gi,
  'US spelling':
    /\b(?:behaviours?|colours?|licence|catalogue|cancelled|labelled|centre|(?:normal|initial|serial|organ|author|recogn|optim|summar)is(?:e[sd]?|ing|ation))\b/gi,
};

it.each(Object.entries(UNUSED))('what users read says: %s', (_instead, words) => {
  const documents = read(['README.md', 'SECURITY.md', 'docs/*.md', 'deploy/*/README.md']).map(({ path, text }) => ({
    path,
    text: prose(text),
  }));
  const api = textsOf(JSON.parse(readFileSync('openapi.json', 'utf8'))).join('\n');
  const found = [...documents, { path: 'openapi.json', text: prose(api) }].flatMap(({ path, text }) =>
    Array.from(text.matchAll(words), ({ index }) => `${path}: …${text.slice(Math.max(0, index - 30), index + 30)}…`),
  );
  expect(found).toEqual([]);
});

it('README.md and the guides have at most 15,000 words together, of which code is a part', () => {
  const counts = GUIDES.map(({ path, text }) => {
    // Rules and borders of tables, and what marks guarantees, are not read.
    const words = text.replaceAll(/<!--[^]*?-->/g, '').match(/\S*[\p{L}\p{N}]\S*/gu) ?? [];
    return { path, words: words.length };
  });
  const sum = counts.reduce((total, { words }) => total + words, 0);
  expect(sum <= 15_000 ? '' : `${sum} words: ${JSON.stringify(counts)}`).toBe('');
});

it('docs/reference.md names every export of platform/index.ts', () => {
  const source = readFileSync('src/platform/index.ts', 'utf8');
  const names = [...source.matchAll(/^export (?:type )?\{ (.*?) \}/gm)].flatMap(([, list = '']) => list.split(', '));
  const reference = readFileSync('docs/reference.md', 'utf8');
  const code = new Set([...reference.matchAll(/`([^`\n]+)`/g)].flatMap(([, span = '']) => span.match(/\w+/g) ?? []));
  expect(names.length).toBeGreaterThan(40);
  expect(names.map((name) => name.replace('type ', '')).filter((name) => !code.has(name))).toEqual([]);
});
