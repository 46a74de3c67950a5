import { globSync, readFileSync } from 'node:fs';
import ts from 'typescript';

/** A sentence, row or cell of a document that others rely on, marked with `<!-- guarantee: its-key -->` behind it. */
export interface Guarantee {
  readonly key: string;
  readonly text: string;
  readonly document: string;
  readonly heading: string;
}

/** A test, or a group of tests, whose name has the key of a guarantee in brackets: `it('never expires [cursor-lifetime]', …)`. */
export interface Claim {
  readonly key: string;
  readonly file: string;
  readonly name: string;
}

const DOCUMENTS = ['*.md', 'docs/*.md', 'deploy/*/README.md', 'clients/*/README.md'];
/** Suites that several files share lie in `test/support`. */
const TESTS = ['{src,tools,clients}/**/*.spec.ts', 'test/**/*.e2e-spec.ts', 'test/support/**/*.ts'];

const MARK = /\s*<!-- guarantee: (.*?) -->/;
/** At least two words, so that no other text in brackets is a key by accident. */
const KEY = '[a-z][a-z0-9]*(?:-[a-z0-9]+)+';
const CLAIMED = new RegExp(String.raw`\s*\[(${KEY})\]`, 'g');

const read = (pattern: string[]) =>
  globSync(pattern, { exclude: ['**/node_modules/**', '**/dist/**'] })
    .toSorted()
    .map((path) => [path, readFileSync(path, 'utf8')] as const);

export const guaranteesOfProject = (): Guarantee[] => read(DOCUMENTS).flatMap(([path, text]) => guaranteesIn(path, text));
export const claimsOfProject = (): Claim[] => read(TESTS).flatMap(([path, text]) => claimsIn(path, text));

/** The guarantees of a Markdown document. */
export function guaranteesIn(document: string, markdown: string): Guarantee[] {
  const found: Guarantee[] = [];
  let heading = '';
  for (const block of blocksOf(markdown)) {
    heading = /^#+ (.*)/.exec(block)?.[1] ?? heading;
    const parts = block.split(new RegExp(MARK, 'g'));
    // Texts and keys by turns.
    for (let index = 0; index + 1 < parts.length; index += 2) {
      const text = block.startsWith('|') ? rowUntil(parts, index) : sentenceIn(parts[index] ?? '');
      found.push({ key: parts[index + 1] ?? '', text, document, heading });
    }
  }
  return found;
}

/** Paragraphs, items of lists and rows of tables, each as one line; no code. */
function blocksOf(markdown: string): string[] {
  const prose = markdown.replaceAll(/^(`{3,}).*?^\1$|`<!--[^`]*-->`/gms, '');
  return prose.split(/\n\s*\n|\n(?=\s*[-*|#]|\s*\d+\.)/).map((block) => block.replaceAll(/\s*\n\s*/g, ' ').trim());
}

/** The last sentence. */
function sentenceIn(text: string): string {
  const [sentence = ''] = /(?:(?!\. [A-Z`*[@]|: [A-Z]).)*$/.exec(text) ?? [];
  return plain(sentence.replace(/^[.:] /, ''));
}

/** The first cell of a row, and those from the previous mark on. */
function rowUntil(parts: readonly string[], index: number): string {
  const [first = '', ...cells] = parts
    .filter((_part, place) => place <= index && place % 2 === 0)
    .join('\0')
    .split(/(?<!\\)\|/)
    .slice(1)
    .map((cell) => cell.trim());
  const own = cells.join(' | ').split('\0').at(-1) ?? '';
  const texts = [first.split('\0').at(cells.length === 0 ? -1 : 0) ?? '', ...own.split(' | ')].map(plain);
  return texts.filter((text, place) => text !== '' && texts.indexOf(text) === place).join(' – ');
}

/** Without the targets of links, which are relative to the document, and without marks of lists. */
function plain(markdown: string): string {
  return markdown
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/^(?:[-*] |\d+\. )|^[.,;:] ?|\.$/g, '')
    .trim();
}

/** The claims of a file of tests: in names, and in the texts of tables (`it.each`) from which names are made. */
export function claimsIn(file: string, source: string): Claim[] {
  if (!source.match(CLAIMED)) return [];
  const found: Claim[] = [];
  const visit = (node: ts.Node, names: readonly string[]): void => {
    const name = ts.isCallExpression(node) && isTest(node.expression) ? nameOf(node.arguments[0]) : undefined;
    const path = name === undefined ? names : [...names, name];
    const rows = name?.includes('%s') && ts.isCallExpression(node) ? rowsOf(node.expression) : [];
    for (const text of [name ?? '', ...rows]) {
      const parts = text === name ? path : [...names, (name ?? '').replace('%s', () => text)];
      const full = parts.map((part) => part.replaceAll(CLAIMED, '')).join(' › ');
      found.push(...Array.from(text.matchAll(CLAIMED), ([, key = '']) => ({ key, file, name: full })));
    }
    ts.forEachChild(node, (child) => visit(child, path));
  };
  visit(ts.createSourceFile(file, source, ts.ScriptTarget.Latest), []);
  return found;
}

/** Whether a function is `it`, `test` or `describe`, also with `.each(…)`. What is skipped shows nothing. */
function isTest(node: ts.Expression): boolean {
  if (ts.isIdentifier(node)) return ['it', 'test', 'describe'].includes(node.text);
  if (ts.isPropertyAccessExpression(node) && ['skip', 'todo', 'failing'].includes(node.name.text)) return false;
  return ts.isCallExpression(node) || ts.isPropertyAccessExpression(node) ? isTest(node.expression) : false;
}

/** The first text of each row of a table that is written out: of `it.each([['a text', 1], …])`, and of `it.each(['a text', …])`. */
function rowsOf(node: ts.Expression): string[] {
  const [table] = ts.isCallExpression(node) ? node.arguments : [];
  if (!table || !ts.isArrayLiteralExpression(table)) return [];
  const firsts = table.elements.map((row) => (ts.isArrayLiteralExpression(row) ? row.elements[0] : row));
  return firsts.flatMap((text) => (text && ts.isStringLiteralLike(text) ? text.text : []));
}

/** What is literal in a name; `…` for the rest. */
function nameOf(node: ts.Expression | undefined): string | undefined {
  if (node === undefined || ts.isStringLiteralLike(node)) return node?.text;
  if (!ts.isTemplateExpression(node)) return undefined;
  return node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join('');
}

/** What is wrong with guarantees and claims, and how to correct it. */
export function faultsOf(guarantees: readonly Guarantee[], claims: readonly Claim[]): string[] {
  const [known, claimed] = [guarantees, claims].map((all) => new Set(all.map(({ key }) => key)));
  const faults = guarantees.map(({ key, document }, index) => {
    if (!new RegExp(`^${KEY}$`).test(key))
      return `${document}: the key "${key}" must be two or more words like cursor-lifetime.`;
    const isRepeated = guarantees.findIndex((other) => other.key === key) !== index;
    if (isRepeated) return `${document}: the key "${key}" belongs to another guarantee: choose a different one.`;
    return claimed?.has(key)
      ? undefined
      : `${document}: no test has [${key}] in its name: write the test that fails without it.`;
  });
  const lost = claims
    .filter(({ key }) => !known?.has(key))
    .map(({ key, file }) => `${file}: no document has the guarantee [${key}]: restore it there, or remove the key.`);
  return [...faults.filter((fault) => fault !== undefined), ...lost];
}
