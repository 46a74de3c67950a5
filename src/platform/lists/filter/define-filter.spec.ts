import { ChildEntity, Column, Entity, PrimaryColumn, TableInheritance } from 'typeorm';
import { defineFilter } from './define-filter.js';

@Entity()
class Book {
  @PrimaryColumn('uuid')
  declare id: string;

  @Column('text')
  declare title: string;

  @Column('text', { nullable: true })
  declare subtitle: string | null;

  @Column('int')
  declare pages: number;

  @Column('text', { nullable: true })
  declare publisher: string;

  @Column('uuid')
  declare owner: string;

  declare shelf: string;
}

@Entity()
class Comic extends Book {}

@Entity()
@TableInheritance({ column: 'kind' })
class Medium extends Book {}

@ChildEntity()
class Record extends Medium {}

@Entity()
class Crate {
  @PrimaryColumn('uuid')
  declare id: string;

  @Column()
  declare count: number;

  @Column()
  declare open: boolean;

  @Column('varchar')
  declare size: 'small' | 'large';

  @Column('timestamptz', { nullable: true })
  declare emptied: Date | null;

  @Column()
  declare filled: Date;

  @Column('timestamp without time zone')
  declare moved: Date;

  @Column('bigint')
  declare serial: string;

  @Column('int8')
  declare grams: number;

  @Column('numeric')
  declare price: number;

  @Column('real')
  declare height: number;

  @Column('enum', { enum: ['red', 'blue'] })
  declare color: 'red' | 'blue';

  @Column('int', { transformer: { to: Number, from: Number } })
  declare cents: number;

  @Column('text', { array: true })
  declare tag: string;
}

const unindexed = 'there are few books';

// The compiler refuses the lines below these comments: it would complain of the comments otherwise.
const define = {
  aFieldThatTheEntityLacks: () =>
    // @ts-expect-error only creation times have names of their own
    defineFilter(Book, { author: { type: 'string', unindexed } }, {}),
  anotherType: () =>
    // @ts-expect-error a number cannot be filtered as text
    defineFilter(Book, { pages: { type: 'string', unindexed } }, {}),
  aTypeThatIsNone: () =>
    // @ts-expect-error there is no such type
    defineFilter(Book, { title: { type: 'text', unindexed } }, {}),
  textAsNumber: () =>
    // @ts-expect-error text cannot be filtered as a number
    defineFilter(Crate, { size: { type: 'int', unindexed } }, {}),
  aNumberAsTruth: () =>
    // @ts-expect-error a number is neither true nor false
    defineFilter(Crate, { count: { type: 'bool', unindexed } }, {}),
  truthAsNumber: () =>
    // @ts-expect-error true is no number
    defineFilter(Crate, { open: { type: 'int', unindexed } }, {}),
  aNumberAsTime: () =>
    // @ts-expect-error a number is no time
    defineFilter(Crate, { count: { type: 'timestamp', unindexed } }, {}),
  aNullableTime: () =>
    // @ts-expect-error the time can be null
    defineFilter(Crate, { emptied: { type: 'timestamp', unindexed } }, {}),
  aChoiceWithoutValues: () =>
    // @ts-expect-error the values that it can have are missing
    defineFilter(Crate, { size: { type: 'enum', unindexed } }, {}),
  aChoiceOfNothing: () =>
    // @ts-expect-error one value at least
    defineFilter(Crate, { size: { type: 'enum', values: [], unindexed } }, {}),
  aChoiceThatIsNone: () =>
    // @ts-expect-error the size is never medium
    defineFilter(Crate, { size: { type: 'enum', values: ['small', 'medium'], unindexed } }, {}),
  aChoiceOfAnyText: () =>
    // @ts-expect-error the title can be any text
    defineFilter(Book, { title: { type: 'enum', values: ['a'], unindexed } }, {}),
  valuesOfAnotherType: () =>
    // @ts-expect-error only an enum has values
    defineFilter(Crate, { count: { type: 'int', values: ['1'], unindexed } }, {}),
  aMissingNullable: () =>
    // @ts-expect-error the subtitle can be null
    defineFilter(Book, { subtitle: { type: 'string', unindexed } }, {}),
  aNullableTooMany: () =>
    // @ts-expect-error the title cannot be null
    defineFilter(Book, { title: { type: 'string', nullable: true, unindexed } }, {}),
  aCreationTimeInsteadOfAProperty: () =>
    // @ts-expect-error the title is text
    defineFilter(Book, { title: { type: 'creationTime', unindexed } }, {}),
  nothingOfIndexes: () =>
    // @ts-expect-error whether an index finds its rows must be said
    defineFilter(Book, { title: { type: 'string' } }, {}),
  noIndexes: () =>
    // @ts-expect-error one index at least
    defineFilter(Book, { title: { type: 'string', indexes: [] } }, {}),
  indexesAndNone: () =>
    // @ts-expect-error either there are indexes or there are none
    defineFilter(Book, { title: { type: 'string', indexes: ['book_title_idx'], unindexed } }, {}),
  anIndexOfTheKey: () =>
    // @ts-expect-error the primary key finds its rows
    defineFilter(Book, { id: { type: 'uuid', indexes: ['book_pkey'] } }, {}),
  anIndexOfTheCreationTime: () =>
    // @ts-expect-error the primary key finds its rows
    defineFilter(Book, { published: { type: 'creationTime', unindexed } }, {}),
};

describe('a filter', () => {
  it('is declared of the columns of an entity, those that it inherits too, and of its creation time', () => {
    const fields = {
      id: { type: 'uuid' },
      title: { type: 'string', unindexed },
      subtitle: { type: 'string', nullable: true, unindexed },
      published: { type: 'creationTime' },
    } as const;
    for (const entity of [Book, Comic]) {
      const filter = defineFilter(entity, fields, { 'With a subtitle': 'subtitle != null' });
      expect(filter.parse('title == "x" && subtitle != null').condition).toMatchObject({ kind: 'and' });
      expect(() => filter.parse('pages == "5"')).toThrow('there are id, title, subtitle, published');
    }
  });

  it('needs columns, that can be null where it says so', () => {
    expect(define.aFieldThatTheEntityLacks).toThrow('Book.author is no column: filter by properties with @Column.');
    expect(() => defineFilter(Book, { shelf: { type: 'string', unindexed } }, {})).toThrow('Book.shelf is no column');
    expect(() => defineFilter(Book, { publisher: { type: 'string', unindexed } }, {})).toThrow(
      'Book.publisher and its column differ in whether it can be null: let the entity, its column and the filter agree.',
    );
    expect(() => defineFilter(Book, { owner: { type: 'string', unindexed } }, {})).toThrow(
      'Book.owner is a column of another type: string needs text.',
    );
    expect(() => defineFilter(Book, { title: { type: 'uuid', unindexed } }, {})).toThrow('uuid needs uuid.');
    expect(define.aMissingNullable).toThrow('Book.subtitle and its column differ');
    expect(define.aNullableTooMany).toThrow('Book.title and its column differ');
  });

  it('has fields of many types, in columns that keep what is compared', () => {
    const filter = defineFilter(
      Crate,
      {
        count: { type: 'int', unindexed },
        open: { type: 'bool', unindexed },
        size: { type: 'enum', values: ['small', 'large'], unindexed },
        emptied: { type: 'timestamp', nullable: true, unindexed },
      },
      {},
    );
    expect(filter.parse('open && size == "small"').condition).toMatchObject({ kind: 'and' });
    for (const [wrong, message] of [
      [define.textAsNumber, 'Crate.size is a column of another type: int needs integer.'],
      [define.aNumberAsTruth, 'Crate.count is a column of another type: bool needs boolean.'],
      [define.truthAsNumber, 'Crate.open is a column of another type: int needs integer.'],
      [define.aNumberAsTime, 'Crate.count is a column of another type: timestamp needs timestamptz.'],
      [define.aNullableTime, 'Crate.emptied and its column differ in whether it can be null'],
      [
        () => defineFilter(Crate, { serial: { type: 'string', unindexed } }, {}),
        'Crate.serial is a column of another type: string needs text. See docs/filtering.md.',
      ],
      [() => defineFilter(Crate, { grams: { type: 'int', unindexed } }, {}), 'int needs integer'],
      [() => defineFilter(Crate, { price: { type: 'double', unindexed } }, {}), 'double needs double precision'],
      [() => defineFilter(Crate, { height: { type: 'double', unindexed } }, {}), 'double needs double precision'],
      [() => defineFilter(Crate, { filled: { type: 'timestamp', unindexed } }, {}), 'timestamp needs timestamptz'],
      [() => defineFilter(Crate, { moved: { type: 'timestamp', unindexed } }, {}), 'timestamp needs timestamptz'],
      [() => defineFilter(Crate, { color: { type: 'enum', values: ['red'], unindexed } }, {}), 'enum needs text'],
      [() => defineFilter(Crate, { cents: { type: 'int', unindexed } }, {}), /^Crate\.cents is not kept as it is read/],
      [() => defineFilter(Crate, { tag: { type: 'string', unindexed } }, {}), /^Crate\.tag is not kept as it is read/],
    ] as const) {
      expect(wrong).toThrow(message);
    }
  });

  it('says of each field whether an index finds its rows, except of those that the primary key finds', () => {
    const advice =
      "Book.title can be filtered by and names no index: add indexes: ['book_title_idx'] with a migration that builds it, or unindexed: 'why reading every row is acceptable'.";
    expect(define.nothingOfIndexes).toThrow(advice);
    expect(define.noIndexes).toThrow(advice);
    expect(() => defineFilter(Book, { title: { type: 'string', unindexed: ' ' } }, {})).toThrow(advice);
  });

  it('needs an entity with a table of its own', () => {
    for (const entity of [Medium, Record]) {
      expect(() => defineFilter(entity, { title: { type: 'string', unindexed } }, {})).toThrow('shares its table');
    }
  });

  it('needs examples that work', () => {
    expect(() => defineFilter(Book, { title: { type: 'string', unindexed } }, { Wrong: 'titel == "x"' })).toThrow(
      'did you mean title?',
    );
  });
});
