import { readFileSync } from 'node:fs';
import { claimsIn, claimsOfProject, faultsOf, guaranteesIn, guaranteesOfProject } from './collect.ts';
import { tableOf } from './table.ts';

describe('the guarantees of the documents', () => {
  const [guarantees, claims] = [guaranteesOfProject(), claimsOfProject()];

  it('each have a test that claims them, and no test claims another', () => {
    expect(faultsOf(guarantees, claims)).toEqual([]);
    expect(guarantees.length).toBeGreaterThan(0);
  });

  it('are listed in test/guarantees.md: otherwise run `npm run guarantees`', () => {
    expect(readFileSync('test/guarantees.md', 'utf8')).toBe(tableOf(guarantees, claims));
  });
});

const DOCUMENT = `
# Limits

Some words. A request may
have [one](x.md) body. <!-- guarantee: one-body --> Others: not. <!-- guarantee: no-others -->

- An item: it is short. <!-- guarantee: short-item -->
- Another one is not marked, but in code: \`<!-- guarantee: in-code -->\`.

| Resource | Limit                             | Beyond                             |
| -------- | --------------------------------- | ---------------------------------- |
| Time \\| place | 5 s <!-- guarantee: time-limit --> | closed <!-- guarantee: time-over --> |
| Space <!-- guarantee: any-space --> | 1 m | |

\`\`\`html
<!-- guarantee: in-code -->
\`\`\`
`;

const TESTS = `
describe('a body [one-body]', () => {
  it.each([['a row [row-key]', '[not-this]'], ['another']])('%s is short [short-item] [no-others]', () => {});
  it.skip('is skipped [one-body]', () => {});
  it(\`takes \${5} s [time-limit]\`, () => call('[not-that]'));
});
`;

it('finds sentences, items, rows and cells of a document', () => {
  expect(guaranteesIn('a.md', DOCUMENT).map(({ key, text, heading }) => [key, text, heading])).toEqual([
    ['one-body', 'A request may have one body', 'Limits'],
    ['no-others', 'Others: not', 'Limits'],
    ['short-item', 'An item: it is short', 'Limits'],
    ['time-limit', String.raw`Time \| place – 5 s`, 'Limits'],
    ['time-over', String.raw`Time \| place – closed`, 'Limits'],
    ['any-space', 'Space', 'Limits'],
  ]);
});

it('finds keys in the names of tests, also of generated ones', () => {
  expect(claimsIn('a.spec.ts', TESTS).map(({ key, name }) => [key, name])).toEqual([
    ['one-body', 'a body'],
    ['short-item', 'a body › %s is short'],
    ['no-others', 'a body › %s is short'],
    ['row-key', 'a body › a row is short'],
    ['time-limit', 'a body › takes … s'],
  ]);
});

it('names a guarantee without a test, a test without its guarantee, and keys that are repeated or too short', () => {
  const guarantees = guaranteesIn(
    'a.md',
    'A. <!-- guarantee: one-body -->\n\nB. <!-- guarantee: one-body -->\n\nC. <!-- guarantee: x -->',
  );
  expect(faultsOf(guarantees, claimsIn('a.spec.ts', "it('is gone [no-others]')"))).toEqual([
    'a.md: no test has [one-body] in its name: write the test that fails without it.',
    'a.md: the key "one-body" belongs to another guarantee: choose a different one.',
    'a.md: the key "x" must be two or more words like cursor-lifetime.',
    'a.spec.ts: no document has the guarantee [no-others]: restore it there, or remove the key.',
  ]);
});
