import { NODES_311, REFUSED_FILTERS } from '../../../../test/support/refused-filters.js';
import { compileExpression } from './compile-expression.js';
import type { FilterFields } from './filter-fields.js';
import { FilterError, MAXIMUM_LENGTH, parseExpression } from './parse-expression.js';

const ITEMS: FilterFields = {
  id: { type: 'uuid' },
  name: { type: 'string' },
  description: { type: 'string', nullable: true },
  createdAt: { type: 'creationTime' },
};

const FIELDS: Readonly<Record<'items' | 'samples', FilterFields>> = {
  items: ITEMS,
  samples: {
    ...ITEMS,
    count: { type: 'int' },
    weight: { type: 'double' },
    active: { type: 'bool' },
    size: { type: 'enum', values: ['small', 'medium', 'large'] },
    seenAt: { type: 'timestamp' },
  },
};

const compile = (expression: string, fields = FIELDS.items) => compileExpression(parseExpression(expression), fields);

/** The error of an expression. */
function errorOf(expression: string, fields = FIELDS.items): FilterError {
  try {
    compile(expression, fields);
  } catch (error) {
    if (error instanceof FilterError) return error;
    throw error;
  }
  throw new Error('It compiles.');
}

describe('an expression is refused with its position and the fix:', () => {
  it.each(REFUSED_FILTERS)('%s %s', (path, marked, code, advice) => {
    const [before = '', part = '', after = ''] = marked.split('¦');
    const expression = before + part + after;
    const error = errorOf(expression, FIELDS[path]);
    const quoted = Array.from(expression.slice(error.start, error.end));
    expect([error.name, error.code, error.start, quoted.length]).toEqual([
      'FilterError',
      code,
      before.length,
      Array.from(part).length,
    ]);
    expect(error.message).toContain(advice);
  });
});

const conditions = (count: number) => Array(count).fill('name == "x"').join(' || ');
const searches = (count: number) => Array(count).fill('name.icontains("x")').join(' || ');
const nested = (depth: number) => `${'('.repeat(depth)}name == "x"${')'.repeat(depth)}`;
const list = (count: number) => `[${Array(count).fill('"x"').join()}]`;
const times = (count: number) => `[${Array(count).fill('timestamp("2026-01-01T00:00:00Z")').join()}]`;

it.each<[limit: string, allowed: string, refused: string]>([
  ['2,000 characters', 'name == "x"'.padEnd(MAXIMUM_LENGTH), 'name == "x"'.padEnd(MAXIMUM_LENGTH + 1)],
  ['2,000 characters of two units each', `name == "${'😀'.repeat(1990)}"`, `name == "${'😀'.repeat(1991)}"`],
  ['32 conditions', conditions(32), conditions(33)],
  ['32 booleans', Array(32).fill('active').join(' || '), Array(33).fill('active').join(' || ')],
  ['32 times in a list', `createdAt in ${times(32)}`, `createdAt in ${times(33)}`],
  ['one condition for a list', `name in ${list(100)} || ${conditions(31)}`, `name in ${list(100)} || ${conditions(32)}`],
  ['4 searches', searches(4), searches(5)],
  [
    '32 searches for the start',
    Array(32).fill('name.startsWith("x")').join(' && '),
    Array(33).fill('name.startsWith("x")').join(' && '),
  ],
  ['16 levels', nested(16), nested(17)],
  ['100 values', `name in ${list(100)}`, `name in ${list(101)}`],
  ['400 nodes', `${NODES_311} || name in ${list(85)}`, `${NODES_311} || name in ${list(86)}`],
])('allows %s, and no more', (_limit, allowed, refused) => {
  expect(() => compile(allowed, FIELDS.samples)).not.toThrow();
  expect(errorOf(refused, FIELDS.samples).code).toBe('limit');
});

describe('suggests', () => {
  it.each([
    [conditions(33), 'has more than 32 conditions: use `in` with texts, a range of times, or several requests'],
    [searches(5), 'has more than 4 searches: use `startsWith` or `==`, or fewer searches'],
    ['nme == "x"', 'did you mean name?'],
    // A third of its characters may differ, and no more.
    ['nomi == "x"', 'did you mean name?'],
    ['numo == "x"', 'did you mean name?'],
    ['bell == "x"', 'use one of id, name, description, createdAt'],
    ['toString == "x"', 'has the unknown field toString: use one of'],
    ['name in [toString]', 'has the unknown field toString; name is text, written `"…"`'],
    ['id == nam', 'has the unknown field nam; id is a UUID, written `"0190163d-'],
    ['name.lowerascii() == "x"', 'did you mean lowerAscii?'],
    ['createdAt > timestmp("x")', 'calls timestmp, which is not supported; did you mean timestamp?'],
    ['name.size() == 1', 'use one of contains, startsWith, endsWith, icontains, lowerAscii, timestamp'],
    ['name == description.lowerAscii()', 'uses CEL that filters do not support: compare a field with a value'],
    ['createdAt > timestamp(name)', 'must call timestamp with one text'],
    ['name.contains(description)', 'uses CEL that filters do not support'],
    ['name.contains()', 'must call contains on a text field with one text: write `name.contains("…")`'],
    ['name.lowerAscii("x") == "x"', 'must call lowerAscii on a text field: write `name.lowerAscii()`'],
    ['createdAt > timestamp("2026-01-01T00:00:00Z", "x")', 'must call timestamp with one text'],
    ['createdAt > timestamp()', 'must call timestamp with one text'],
    ['name == null', 'compares name with null, but it is never null: remove this comparison'],
    ['name.lowerAscii() == null', 'compares name with null, but it is never null: remove this comparison'],
    ['description.lowerAscii() == null', 'compares description.lowerAscii() with null: compare description itself'],
    ['description.lowerAscii() in [null]', 'compare description itself, as in `description == null`'],
    ['"x"', 'needs a condition here'],
    ['name.lowerAscii()', 'needs a condition here: compare a field with a value, as in `name == "…"`'],
    ['null == null', 'uses CEL that filters do not support'],
  ])('a fix for %s', (expression, advice) => {
    expect(errorOf(expression).message).toContain(advice);
  });
});
