import { ChildEntity, Column, Entity, PrimaryColumn, TableInheritance } from 'typeorm';
import { defineFilter } from './define-filter.js';

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
  ['string needs a column of type text', () => defineFilter(Book, { shelf: { type: 'string', unindexed } }, {})],
  ['string needs a column of type text', () => defineFilter(Book, { owner: { type: 'string', unindexed } }, {})],
  ['string needs a column of type text', () => defineFilter(Book, { tag: { type: 'string', unindexed } }, {})],
  ['int needs a column of type integer', () => defineFilter(Book, { cents: { type: 'int', unindexed } }, {})],
  ['double needs a column of type double', () => defineFilter(Book, { weight: { type: 'double', unindexed } }, {})],
  ['needs a column of type timestamptz', () => defineFilter(Book, { printed: { type: 'timestamp', unindexed } }, {})],
  ['Book.publisher and its column disagree on null', () => defineFilter(Book, { publisher: { type: 'string', unindexed } }, {})],
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
  // @ts-expect-error the size is never medium
  () => defineFilter(Book, { size: { type: 'enum', values: ['small', 'medium'], unindexed } }, {}),
  // @ts-expect-error the title can be any text
  () => defineFilter(Book, { title: { type: 'enum', values: ['a'], unindexed } }, {}),
  // @ts-expect-error whether an index finds its rows must be said
  () => defineFilter(Book, { title: { type: 'string' } }, {}),
  // @ts-expect-error one index at least
  () => defineFilter(Book, { title: { type: 'string', indexes: [] } }, {}),
  // @ts-expect-error either there are indexes or there are none
  () => defineFilter(Book, { title: { type: 'string', indexes: ['book_title_idx'], unindexed } }, {}),
  // @ts-expect-error the primary key finds its rows
  () => defineFilter(Book, { id: { type: 'uuid', indexes: ['book_pkey'] } }, {}),
];

it('accepts own and inherited columns of an entity, and its creation time', () => {
  const fields = { title: { type: 'string', unindexed }, published: { type: 'creationTime' } } as const;
  for (const entity of [Book, Comic]) {
    const filter = defineFilter(entity, fields, { 'Without a title': 'title == ""' });
    expect(() => filter.parse('pages == "5"')).toThrow('use one of title, published');
  }
});
