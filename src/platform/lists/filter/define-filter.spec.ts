import { ChildEntity, Column, type ColumnOptions, Entity, PrimaryColumn, TableInheritance } from 'typeorm';
import { defineFilter, describeFilter, filters } from './define-filter.js';
import type { FieldType } from './filter-fields.js';

@Entity()
@TableInheritance({ column: 'kind' })
class Medium {
  @PrimaryColumn('uuid')
  declare id: string;

  @Column('text')
  declare title: string;
}

@ChildEntity()
class Record extends Medium {}

/** Another table that entities share. */
@Entity()
@TableInheritance({ column: 'kind' })
class Place {
  @PrimaryColumn('uuid')
  declare id: string;

  @Column('text')
  declare title: string;
}

@Entity()
class Book {
  @PrimaryColumn('uuid')
  declare id: string;

  @Column('text')
  declare title: string;

  @Column('text', { nullable: true })
  declare subtitle: string | null;

  @Column('text', { nullable: true })
  declare publisher: string;

  @Column('varchar')
  declare size: 'small' | 'large';

  @Column('uuid')
  declare owner: string;

  @Column()
  declare pages: number;

  @Column('real')
  declare weight: number;

  @Column()
  declare printed: Date;

  @Column('int', { transformer: { to: Number, from: Number } })
  declare cents: number;

  @Column('text', { array: true })
  declare tag: string;

  declare shelf: string;
}

@Entity()
class Comic extends Book {}

const unindexed = 'there are few books';

it.each([
  ['shares its table', () => defineFilter(Record, { title: { type: 'string', unindexed } }, {})],
  ['shares its table', () => defineFilter(Place, { title: { type: 'string', unindexed } }, {})],
  ['string needs a column of type text', () => defineFilter(Book, { shelf: { type: 'string', unindexed } }, {})],
  ['string needs a column of type text', () => defineFilter(Book, { owner: { type: 'string', unindexed } }, {})],
  ['string needs a column of type text', () => defineFilter(Book, { tag: { type: 'string', unindexed } }, {})],
  ['int needs a column of type integer', () => defineFilter(Book, { cents: { type: 'int', unindexed } }, {})],
  ['double needs a column of type double', () => defineFilter(Book, { weight: { type: 'double', unindexed } }, {})],
  ['needs a column of type timestamptz', () => defineFilter(Book, { printed: { type: 'timestamp', unindexed } }, {})],
  [
    'Book.publisher and its column disagree on null',
    () => defineFilter(Book, { publisher: { type: 'string', unindexed } }, {}),
  ],
  ['did you mean title?', () => defineFilter(Book, { title: { type: 'string', unindexed } }, { Wrong: 'titel == "x"' })],
])('throws when it is defined: %s [filter-column-types]', (message, define) => {
  expect(define).toThrow(message);
});

// Errors of the types: the type check fails for a line that compiles.
void [
  // @ts-expect-error only creation times can have other names
  () => defineFilter(Book, { author: { type: 'string', unindexed } }, {}),
  // @ts-expect-error the subtitle can be null
  () => defineFilter(Book, { subtitle: { type: 'string', unindexed } }, {}),
  // @ts-expect-error the title cannot be null
  () => defineFilter(Book, { title: { type: 'string', nullable: true, unindexed } }, {}),
  // @ts-expect-error text cannot be filtered as a number
  () => defineFilter(Book, { title: { type: 'int', unindexed } }, {}),
  // @ts-expect-error a number cannot be filtered as text
  () => defineFilter(Book, { pages: { type: 'string', unindexed } }, {}),
  // @ts-expect-error the values that it can have are missing
  () => defineFilter(Book, { size: { type: 'enum', unindexed } }, {}),
  // @ts-expect-error one value at least
  () => defineFilter(Book, { size: { type: 'enum', values: [], unindexed } }, {}),
  // @ts-expect-error the size is never medium
  () => defineFilter(Book, { size: { type: 'enum', values: ['small', 'medium'], unindexed } }, {}),
  // @ts-expect-error the title can be any text
  () => defineFilter(Book, { title: { type: 'enum', values: ['a'], unindexed } }, {}),
  // @ts-expect-error only an enum has values
  () => defineFilter(Book, { pages: { type: 'int', values: ['1'], unindexed } }, {}),
  // @ts-expect-error the title is text
  () => defineFilter(Book, { title: { type: 'creationTime', unindexed } }, {}),
  // @ts-expect-error whether an index finds its rows must be said
  () => defineFilter(Book, { title: { type: 'string' } }, {}),
  // @ts-expect-error one index at least
  () => defineFilter(Book, { title: { type: 'string', indexes: [] } }, {}),
  // @ts-expect-error either there are indexes or there are none
  () => defineFilter(Book, { title: { type: 'string', indexes: ['book_title_idx'], unindexed } }, {}),
  // @ts-expect-error the primary key finds its rows
  () => defineFilter(Book, { id: { type: 'uuid', indexes: ['book_pkey'] } }, {}),
];

/** A filter of an entity with one column. */
function filterOf(type: FieldType, column: ColumnOptions) {
  @Entity()
  class Any {
    @PrimaryColumn('uuid')
    declare id: string;

    @Column(column)
    declare value: string;
  }
  const field = { type, values: ['a'], nullable: column.nullable, unindexed };
  return defineFilter(Any, { value: field as { type: 'string'; unindexed: string } }, {});
}

const NUMBERS = ['integer', 'int', 'int4', 'smallint', 'int2', Number] as const;

describe.each<[type: FieldType, columns: readonly ColumnOptions['type'][]]>([
  ['string', ['text', 'varchar', 'character varying', String]],
  ['uuid', ['uuid']],
  ['enum', ['text', 'varchar', 'character varying', String]],
  ['int', NUMBERS],
  ['double', ['double precision', 'float8', 'float']],
  ['bool', ['boolean', 'bool', Boolean]],
  ['timestamp', ['timestamptz', 'timestamp with time zone']],
])('a field of type %s', (field, columns) => {
  it.each(columns.map((column) => [column]))('fits a column of type %p, nullable or not', (type = 'text') => {
    expect(() => filterOf(field, { type })).not.toThrow();
    expect(() => filterOf(field, { type, nullable: true })).not.toThrow();
  });

  it('fits no other column, no array and no transformed value', () => {
    const [type = 'text'] = columns;
    for (const options of [
      { type: 'jsonb' as const },
      { type, array: true },
      { type, transformer: { to: String, from: String } },
    ]) {
      expect(() => filterOf(field, options)).toThrow(
        `Any.value cannot be a filter field: ${field} needs a column of type ${String(type)}, without transformer or array.`,
      );
    }
  });
});

describe('a defined filter', () => {
  const fields = {
    id: { type: 'uuid' },
    title: { type: 'string', unindexed },
    subtitle: { type: 'string', nullable: true, unindexed },
    size: { type: 'enum', values: ['small', 'large'], unindexed },
    pages: { type: 'int', unindexed },
    published: { type: 'creationTime' },
  } as const;
  const filter = defineFilter(Book, fields, { 'Long ones': 'pages > 500' });

  it('is listed, for the documentation and the start checks', () => {
    expect(filters).toContain(filter);
    expect(filters.map(({ entity }) => entity)).not.toContain(undefined);
    expect(filter).toMatchObject({ entity: Book, fields, examples: { 'Long ones': 'pages > 500' } });
  });

  it.each(['', ' ', '\n\t'])('matches all rows if it is blank: %j', (blank) => {
    expect(filter.parse(blank)).toEqual({ entity: Book, expression: '', condition: undefined });
  });

  it('keeps the expression, to which cursors belong', () => {
    expect(filter.parse(' pages > 5')).toEqual({ entity: Book, expression: ' pages > 5', condition: expect.any(Object) });
  });

  it('describes each field with its notation, and what null means', () => {
    const paragraphs = describeFilter(filter).split('\n\n');
    expect(paragraphs[0]).toMatch(/^Which rows to list, in a subset of CEL .* Blank means all\. Fields:$/);
    expect(paragraphs[1]?.split('\n')).toEqual([
      '- `id`: written `"0190163d-8694-739b-aea5-966c26f8ad91"`',
      '- `title`: text, written `"…"`',
      '- `subtitle`: text, written `"…"` or `null`',
      '- `size`: one of "small", "large", written `"small"`',
      '- `pages`: a whole number, written `5`',
      '- `published`: a time, written `timestamp("2026-01-31T12:00:00Z")`',
    ]);
    for (const operator of [
      '==',
      '!=',
      '<',
      '<=',
      '>',
      '>=',
      '.contains("…")',
      '.icontains("…")',
      '.lowerAscii()',
      '&&',
      '||',
      '!',
    ]) {
      expect(paragraphs[2]).toContain(`\`${operator}\``);
    }
    expect(paragraphs[3]).toMatch(/^Where `subtitle` is null, /);
    expect(paragraphs[3]).toContain('write `subtitle == null || !subtitle.contains("…")`.');
    expect(paragraphs[4]).toContain('At most 2000 characters, 32 conditions and 4 searches');
    expect(paragraphs).toHaveLength(5);
  });

  it('says of a boolean that it is a condition by itself, and of null nothing where no text is null', () => {
    const description = describeFilter(filterOf('bool', { type: 'bool', nullable: true }));
    expect(description).toContain('\n- `value`: true or false, written `true` or `null`; also a condition by itself\n');
    expect(description.split('\n\n')).toHaveLength(4);
    expect(description).toMatch(
      / there are no wildcards\.\n\n.*`endsWith`\. An invalid .* position of the error .* does\.$/,
    );
    expect(describeFilter(filterOf('string', { type: 'text' })).split('\n\n')).toHaveLength(4);
  });
});

it('accepts own and inherited columns of an entity, and its creation time', () => {
  const fields = { title: { type: 'string', unindexed }, published: { type: 'creationTime' } } as const;
  for (const entity of [Book, Comic]) {
    const filter = defineFilter(entity, fields, { 'Without a title': 'title == ""' });
    expect(() => filter.parse('pages == "5"')).toThrow('use one of title, published');
  }
});
