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

const INDEX =
  "Book.title can be filtered by and names no index: add indexes: ['book_title_idx'] with a migration that builds it, or unindexed: 'why reading every row is acceptable'.";

// The compiler refuses the lines below the directives; what it does not know is refused when it runs.
it.each([
  // @ts-expect-error only creation times have names of their own
  [() => defineFilter(Book, { author: { type: 'string', unindexed } }, {}), 'Book.author is no column'],
  [() => defineFilter(Book, { shelf: { type: 'string', unindexed } }, {}), 'Book.shelf is no column'],
  [() => defineFilter(Book, { publisher: { type: 'string', unindexed } }, {}), 'Book.publisher and its column differ in whether'],
  // @ts-expect-error the subtitle can be null
  [() => defineFilter(Book, { subtitle: { type: 'string', unindexed } }, {}), 'Book.subtitle and its column differ'],
  // @ts-expect-error the title cannot be null
  [() => defineFilter(Book, { title: { type: 'string', nullable: true, unindexed } }, {}), 'Book.title and its column differ'],
  // @ts-expect-error the time can be null
  [() => defineFilter(Crate, { emptied: { type: 'timestamp', unindexed } }, {}), 'Crate.emptied and its column differ'],
  [() => defineFilter(Book, { owner: { type: 'string', unindexed } }, {}), 'Book.owner is a column of another type'],
  [() => defineFilter(Book, { title: { type: 'uuid', unindexed } }, {}), 'uuid needs uuid.'],
  // @ts-expect-error a number cannot be filtered as text
  [() => defineFilter(Book, { pages: { type: 'string', unindexed } }, {}), 'string needs text'],
  // @ts-expect-error text cannot be filtered as a number
  [() => defineFilter(Crate, { size: { type: 'int', unindexed } }, {}), 'int needs integer'],
  // @ts-expect-error a number is neither true nor false
  [() => defineFilter(Crate, { count: { type: 'bool', unindexed } }, {}), 'bool needs boolean'],
  // @ts-expect-error true is no number
  [() => defineFilter(Crate, { open: { type: 'int', unindexed } }, {}), 'int needs integer'],
  // @ts-expect-error a number is no time
  [() => defineFilter(Crate, { count: { type: 'timestamp', unindexed } }, {}), 'timestamp needs timestamptz'],
  [() => defineFilter(Crate, { serial: { type: 'string', unindexed } }, {}), 'string needs text. See docs/filtering.md.'],
  [() => defineFilter(Crate, { grams: { type: 'int', unindexed } }, {}), 'int needs integer'],
  [() => defineFilter(Crate, { price: { type: 'double', unindexed } }, {}), 'double needs double precision'],
  [() => defineFilter(Crate, { height: { type: 'double', unindexed } }, {}), 'double needs double precision'],
  [() => defineFilter(Crate, { filled: { type: 'timestamp', unindexed } }, {}), 'timestamp needs timestamptz'],
  [() => defineFilter(Crate, { moved: { type: 'timestamp', unindexed } }, {}), 'timestamp needs timestamptz'],
  [() => defineFilter(Crate, { color: { type: 'enum', values: ['red'], unindexed } }, {}), 'enum needs text'],
  [() => defineFilter(Crate, { cents: { type: 'int', unindexed } }, {}), 'Crate.cents is not kept as it is read'],
  [() => defineFilter(Crate, { tag: { type: 'string', unindexed } }, {}), 'Crate.tag is not kept as it is read'],
  // @ts-expect-error whether an index finds its rows must be said
  [() => defineFilter(Book, { title: { type: 'string' } }, {}), INDEX],
  // @ts-expect-error one index at least
  [() => defineFilter(Book, { title: { type: 'string', indexes: [] } }, {}), INDEX],
  [() => defineFilter(Book, { title: { type: 'string', unindexed: ' ' } }, {}), INDEX],
  [() => defineFilter(Medium, { title: { type: 'string', unindexed } }, {}), 'shares its table'],
  [() => defineFilter(Record, { title: { type: 'string', unindexed } }, {}), 'shares its table'],
  [() => defineFilter(Book, { title: { type: 'string', unindexed } }, { Wrong: 'titel == "x"' }), 'did you mean title?'],
])('%s is refused', (define, message) => {
  expect(define).toThrow(message);
});

it.each([
  // @ts-expect-error the values that it can have are missing
  () => defineFilter(Crate, { size: { type: 'enum', unindexed } }, {}),
  // @ts-expect-error one value at least
  () => defineFilter(Crate, { size: { type: 'enum', values: [], unindexed } }, {}),
  // @ts-expect-error the size is never medium
  () => defineFilter(Crate, { size: { type: 'enum', values: ['small', 'medium'], unindexed } }, {}),
  // @ts-expect-error the title can be any text
  () => defineFilter(Book, { title: { type: 'enum', values: ['a'], unindexed } }, {}),
  // @ts-expect-error only an enum has values
  () => defineFilter(Crate, { count: { type: 'int', values: ['1'], unindexed } }, {}),
  // @ts-expect-error the title is text
  () => defineFilter(Book, { title: { type: 'creationTime', unindexed } }, {}),
  // @ts-expect-error either there are indexes or there are none
  () => defineFilter(Book, { title: { type: 'string', indexes: ['book_title_idx'], unindexed } }, {}),
  // @ts-expect-error the primary key finds its rows
  () => defineFilter(Book, { id: { type: 'uuid', indexes: ['book_pkey'] } }, {}),
])('%s is refused by the compiler alone', (define) => {
  expect(define).not.toThrow();
});

it('takes the columns of an entity, those that it inherits too, and its creation time', () => {
  const fields = { title: { type: 'string', unindexed }, published: { type: 'creationTime' } } as const;
  for (const entity of [Book, Comic]) {
    const filter = defineFilter(entity, fields, { 'Without a title': 'title == ""' });
    expect(() => filter.parse('pages == "5"')).toThrow('there are title, published');
  }
});
