import * as fc from 'fast-check';
import { compileExpression } from './compile-expression.js';
import type { FilterFields } from './filter-fields.js';
import { parseExpression } from './parse-expression.js';

// What filters match is tested by test/filter-oracle.e2e-spec.ts; this file tests the SQL that the database gets for it.

const FIELDS: FilterFields = {
  id: { type: 'uuid' },
  name: { type: 'string' },
  note: { type: 'string', nullable: true },
  count: { type: 'int' },
  rank: { type: 'int', nullable: true },
  weight: { type: 'double' },
  height: { type: 'double', nullable: true },
  active: { type: 'bool' },
  approved: { type: 'bool', nullable: true },
  size: { type: 'enum', values: ['small', 'large'] },
  seen: { type: 'timestamp' },
  left: { type: 'timestamp', nullable: true },
  created: { type: 'creationTime' },
};

const compile = (expression: string) => compileExpression(parseExpression(expression), FIELDS);

/** The SQL of an expression, then its parameters. */
function written(expression: string): unknown[] {
  const parameters: unknown[] = [];
  const sql = compile(expression).write({ column: (name) => name, parameter: (value) => `$${parameters.push(value)}` });
  return [sql, ...parameters];
}

/** The first id of 2026, of the millisecond after it, and of a day later. */
const [FIRST, NEXT] = ['019b76da-a800-0000-0000-000000000000', '019b76da-a801-0000-0000-000000000000'];
const [LATER, LATER_NEXT] = ['019b7c01-0400-0000-0000-000000000000', '019b7c01-0401-0000-0000-000000000000'];

const ID = '0190163D-8694-739b-aea5-966c26f8ad91';

type Row = readonly [expression: string, sql: string, ...parameters: unknown[]];

describe.each<[promise: string, rows: readonly Row[]]>([
  [
    'text is compared by code point',
    [
      ['name == "x"', '(name COLLATE "C" = CAST($1 AS text))', 'x'],
      ['name != "x"', '(name COLLATE "C" <> CAST($1 AS text))', 'x'],
      ['name < "x"', '(name COLLATE "C" < CAST($1 AS text))', 'x'],
      ['name <= "x"', '(name COLLATE "C" <= CAST($1 AS text))', 'x'],
      ['name > "x"', '(name COLLATE "C" > CAST($1 AS text))', 'x'],
      ['name >= "x"', '(name COLLATE "C" >= CAST($1 AS text))', 'x'],
      ['name in ["x", "y"]', '(name COLLATE "C" = ANY(CAST($1 AS text[])))', ['x', 'y']],
      ['name.startsWith("x")', '(name COLLATE "C" ^@ $1)', 'x'],
    ],
  ],
  [
    'a value may stand first',
    [
      ['"x" == name', '(name COLLATE "C" = CAST($1 AS text))', 'x'],
      ['"x" != name', '(name COLLATE "C" <> CAST($1 AS text))', 'x'],
      ['"x" < name', '(name COLLATE "C" > CAST($1 AS text))', 'x'],
      ['"x" <= name', '(name COLLATE "C" >= CAST($1 AS text))', 'x'],
      ['"x" > name', '(name COLLATE "C" < CAST($1 AS text))', 'x'],
      ['"x" >= name', '(name COLLATE "C" <= CAST($1 AS text))', 'x'],
      ['-5 > count', '(count < CAST($1 AS bigint))', '-5'],
    ],
  ],
  [
    'only what is text has a collation',
    [
      [`id == "${ID}"`, '(id = CAST($1 AS uuid))', ID],
      [`id in ["${ID}"]`, '(id = ANY(CAST($1 AS uuid[])))', [ID]],
      ['size != "small"', '(size <> CAST($1 AS text))', 'small'],
      ['size in ["small", "large"]', '(size = ANY(CAST($1 AS text[])))', ['small', 'large']],
      ['active == true', '(active = CAST($1 AS boolean))', 'true'],
      ['weight == 2', '(weight = CAST($1 AS double precision))', '2'],
    ],
  ],
  [
    'null is a value for ==, != and in, and an error elsewhere',
    [
      ['note == null', '(note IS NULL)'],
      ['null != note', 'NOT (note IS NULL)'],
      ['note == "x"', '(note COLLATE "C" = CAST($1 AS text) AND note IS NOT NULL)', 'x'],
      ['note != "x"', '(note COLLATE "C" <> CAST($1 AS text) OR note IS NULL)', 'x'],
      ['note in ["x"]', '(note COLLATE "C" = ANY(CAST($1 AS text[])) AND note IS NOT NULL)', ['x']],
      [
        'note in ["x", null]',
        '((note COLLATE "C" = ANY(CAST($1 AS text[])) AND note IS NOT NULL) OR (note IS NULL))',
        ['x'],
      ],
      ['note < "x"', '(note COLLATE "C" < CAST($1 AS text))', 'x'],
      ['note.lowerAscii() != "x"', '(lower(note COLLATE "C") <> CAST($1 AS text))', 'x'],
      ['note.lowerAscii() in ["x"]', '(lower(note COLLATE "C") = ANY(CAST($1 AS text[])))', ['x']],
      ['rank != 5.5', 'TRUE'],
    ],
  ],
  [
    'an empty list matches nothing, and is an error where a method has no text',
    [
      ['name in []', '(name COLLATE "C" <> name COLLATE "C")'],
      ['note in []', '(note COLLATE "C" <> note COLLATE "C" AND note IS NOT NULL)'],
      ['note.lowerAscii() in []', '(lower(note COLLATE "C") <> lower(note COLLATE "C"))'],
      ['count in [0.5]', '(count <> count)'],
      ['created in []', 'FALSE'],
    ],
  ],
  [
    'searches have no wildcards, and keep the collation of the index',
    [
      ['name.contains("50%_\\\\")', '(name LIKE $1)', String.raw`%50\%\_\\%`],
      ['name.endsWith("50%")', '(name LIKE $1)', String.raw`%50\%`],
      ['name.icontains("50%")', '(name ILIKE $1)', String.raw`%50\%%`],
      ['name.startsWith("50%")', '(name COLLATE "C" ^@ $1)', '50%'],
      ['note.contains("x")', '(note LIKE $1)', '%x%'],
    ],
  ],
  [
    'lowerAscii changes only ASCII letters',
    [
      ['name.lowerAscii() == "x"', '(lower(name COLLATE "C") = CAST($1 AS text))', 'x'],
      ['name.lowerAscii().lowerAscii() == "x"', '(lower(name COLLATE "C") = CAST($1 AS text))', 'x'],
      ['name.lowerAscii().contains("x")', '(lower(name COLLATE "C") LIKE $1)', '%x%'],
      ['name.lowerAscii().startsWith("x")', '(lower(name COLLATE "C") ^@ $1)', 'x'],
      ['name.lowerAscii().endsWith("x")', '(lower(name COLLATE "C") LIKE $1)', '%x'],
      ['name.lowerAscii().icontains("x")', '(name ILIKE $1)', '%x%'],
    ],
  ],
  [
    'whole numbers are compared with any number by value',
    [
      ['count == 5', '(count = CAST($1 AS bigint))', '5'],
      ['count == 5.0', '(count = CAST($1 AS bigint))', '5'],
      ['count == 5.5', 'FALSE'],
      ['count != 5.5', 'TRUE'],
      ['count < 5.5', '(count <= CAST($1 AS bigint))', '5'],
      ['count <= 5.5', '(count <= CAST($1 AS bigint))', '5'],
      ['count > 5.5', '(count > CAST($1 AS bigint))', '5'],
      ['count >= 5.5', '(count > CAST($1 AS bigint))', '5'],
      ['5.5 > count', '(count <= CAST($1 AS bigint))', '5'],
      ['count < -5.5', '(count <= CAST($1 AS bigint))', '-6'],
      ['count < 18446744073709551615u', '(count < CAST($1 AS bigint))', String(2 ** 40)],
      ['count >= -9223372036854775808', '(count >= CAST($1 AS bigint))', String(-(2 ** 40))],
      ['count > -1e300', '(count > CAST($1 AS bigint))', String(-(2 ** 40))],
      ['count in [1, 2.5, 3u, 0x10, -4]', '(count = ANY(CAST($1 AS bigint[])))', ['1', '3', '16', '-4']],
      ['rank == 5', '(rank = CAST($1 AS bigint) AND rank IS NOT NULL)', '5'],
    ],
  ],
  [
    'NaN is neither less nor greater than a number',
    [
      ['weight > 1.5', `(weight > CAST($1 AS double precision) AND weight <= 'Infinity')`, '1.5'],
      ['weight >= -1.5', `(weight >= CAST($1 AS double precision) AND weight <= 'Infinity')`, '-1.5'],
      ['weight < 1.5', '(weight < CAST($1 AS double precision))', '1.5'],
      ['weight <= 1.5', '(weight <= CAST($1 AS double precision))', '1.5'],
      ['height == 1', '(height = CAST($1 AS double precision) AND height IS NOT NULL)', '1'],
      ['weight in [1, 2.5]', '(weight = ANY(CAST($1 AS double precision[])))', ['1', '2.5']],
    ],
  ],
  [
    'times are compared to the nanosecond with columns that have microseconds',
    [
      [
        'seen == timestamp("2026-01-01T02:00:00.000001+02:00")',
        '(seen = CAST($1 AS timestamptz))',
        '2026-01-01T00:00:00.000001Z',
      ],
      ['seen == timestamp("2026-01-01T00:00:00.0000015Z")', 'FALSE'],
      [
        'seen > timestamp("2026-01-01T00:00:00.0000015Z")',
        '(seen > CAST($1 AS timestamptz))',
        '2026-01-01T00:00:00.000001Z',
      ],
      [
        'seen < timestamp("1969-12-31T23:59:59.9999999Z")',
        '(seen <= CAST($1 AS timestamptz))',
        '1969-12-31T23:59:59.999999Z',
      ],
      [
        'left in [timestamp("2026-01-01T00:00:00Z"), timestamp("2026-01-01T00:00:00.0000015Z")]',
        '(left = ANY(CAST($1 AS timestamptz[])) AND left IS NOT NULL)',
        ['2026-01-01T00:00:00Z'],
      ],
    ],
  ],
  [
    'a creation time is a range of ids',
    [
      [
        'created == timestamp("2026-01-01T00:00:00Z")',
        '((id >= CAST($1 AS uuid)) AND (id < CAST($2 AS uuid)))',
        FIRST,
        NEXT,
      ],
      [
        'created != timestamp("2026-01-01T00:00:00Z")',
        'NOT ((id >= CAST($1 AS uuid)) AND (id < CAST($2 AS uuid)))',
        FIRST,
        NEXT,
      ],
      ['created < timestamp("2026-01-01T00:00:00Z")', '(id < CAST($1 AS uuid))', FIRST],
      ['created <= timestamp("2026-01-01T00:00:00Z")', '(id < CAST($1 AS uuid))', NEXT],
      ['created > timestamp("2026-01-01T00:00:00Z")', '(id >= CAST($1 AS uuid))', NEXT],
      ['created >= timestamp("2026-01-01T00:00:00Z")', '(id >= CAST($1 AS uuid))', FIRST],
      ['created >= timestamp("2026-01-01T00:00:00.0005Z")', '(id >= CAST($1 AS uuid))', NEXT],
      ['created < timestamp("2026-01-01T00:00:00.0005Z")', '(id < CAST($1 AS uuid))', NEXT],
      ['created == timestamp("2026-01-01T00:00:00.0005Z")', 'FALSE'],
      [
        'created in [timestamp("2026-01-01T00:00:00Z"), timestamp("2026-01-02T00:00:00Z")]',
        '(((id >= CAST($1 AS uuid)) AND (id < CAST($2 AS uuid))) OR ((id >= CAST($3 AS uuid)) AND (id < CAST($4 AS uuid))))',
        FIRST,
        NEXT,
        LATER,
        LATER_NEXT,
      ],
    ],
  ],
  [
    'a boolean is a condition by itself, and conditions are grouped as in CEL',
    [
      ['true', 'TRUE'],
      ['!false', 'NOT FALSE'],
      ['!active', 'NOT active'],
      ['approved in [false]', '(approved = ANY(CAST($1 AS boolean[])) AND approved IS NOT NULL)', ['false']],
      ['active && name == "x" || !(approved)', '((active AND (name COLLATE "C" = CAST($1 AS text))) OR NOT approved)', 'x'],
      ['!(active || count == 1)', 'NOT (active OR (count = CAST($1 AS bigint)))', '1'],
    ],
  ],
])('%s', (_promise, rows) => {
  it.each(rows.map(([expression, ...expected]) => ({ expression, expected })))('$expression', ({ expression, expected }) => {
    expect(written(expression)).toEqual(expected);
  });
});

/** A literal with each character as an escape sequence. */
function literalOf(text: string): string {
  const codes = Array.from(text, (character) => character.codePointAt(0)?.toString(16).padStart(8, '0'));
  return `"${codes.map((code) => String.raw`\U${code}`).join('')}"`;
}

it('never has a value in its SQL', () => {
  const text = fc.string({ unit: 'binary' }).filter((value) => !value.includes('\0') && value.isWellFormed());
  const [equal] = written('name == "x"');
  const [among] = written('name in ["x", "y"]');
  fc.assert(
    fc.property(text, (value) => {
      const literal = literalOf(value);
      expect(written(`name == ${literal}`)).toEqual([equal, value]);
      expect(written(`name in [${literal}, "y"]`)).toEqual([among, [value, 'y']]);
    }),
  );
});

describe('tells the planner which field', () => {
  it.each([
    ['name == "x"', 'name'],
    ['name < "x"', 'name'],
    ['name in ["x"]', 'name'],
    ['name.startsWith("x")', 'name'],
    ['created > timestamp("2026-01-01T00:00:00Z")', 'id'],
    ['name != "x"', undefined],
    ['name.contains("x")', undefined],
    ['name.lowerAscii() == "x"', undefined],
    ['name.lowerAscii().startsWith("x")', undefined],
    ['active', undefined],
  ])('%s limits', (expression, field) => {
    expect(compile(expression).bounds).toBe(field);
  });

  it('each part of a conjunction limits, and no part of another condition', () => {
    expect(compile('name == "x" && count > 5').conjuncts?.map(({ bounds }) => bounds)).toEqual(['name', 'count']);
    expect(compile('created == timestamp("2026-01-01T00:00:00Z")').conjuncts).toHaveLength(2);
    expect(compile('name == "x" || count > 5').conjuncts).toBeUndefined();
    expect(compile('!(name == "x" && count > 5)').conjuncts).toBeUndefined();
  });
});
