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

// The compiler refuses the lines below these comments: it would complain of the comments otherwise.
const define = {
  aFieldThatTheEntityLacks: () =>
    // @ts-expect-error only creation times have names of their own
    defineFilter(Book, { author: { type: 'string' } }, {}),
  anotherType: () =>
    // @ts-expect-error a number cannot be filtered as text
    defineFilter(Book, { pages: { type: 'string' } }, {}),
  aTypeThatIsNone: () =>
    // @ts-expect-error there is no such type
    defineFilter(Book, { title: { type: 'text' } }, {}),
  aMissingNullable: () =>
    // @ts-expect-error the subtitle can be null
    defineFilter(Book, { subtitle: { type: 'string' } }, {}),
  aNullableTooMany: () =>
    // @ts-expect-error the title cannot be null
    defineFilter(Book, { title: { type: 'string', nullable: true } }, {}),
  aCreationTimeInsteadOfAProperty: () =>
    // @ts-expect-error the title is text
    defineFilter(Book, { title: { type: 'creationTime' } }, {}),
};

describe('a filter', () => {
  it('is declared of the columns of an entity, those that it inherits too, and of its creation time', () => {
    const fields = {
      id: { type: 'uuid' },
      title: { type: 'string' },
      subtitle: { type: 'string', nullable: true },
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
    expect(() => defineFilter(Book, { shelf: { type: 'string' } }, {})).toThrow('Book.shelf is no column');
    expect(() => defineFilter(Book, { publisher: { type: 'string' } }, {})).toThrow(
      'Book.publisher and its column differ in whether it can be null: let the entity, its column and the filter agree.',
    );
    expect(() => defineFilter(Book, { owner: { type: 'string' } }, {})).toThrow(
      'Book.owner is a column of another type: string needs text.',
    );
    expect(() => defineFilter(Book, { title: { type: 'uuid' } }, {})).toThrow('uuid needs uuid.');
    expect(define.aMissingNullable).toThrow('Book.subtitle and its column differ');
    expect(define.aNullableTooMany).toThrow('Book.title and its column differ');
  });

  it('needs an entity with a table of its own', () => {
    for (const entity of [Medium, Record]) {
      expect(() => defineFilter(entity, { title: { type: 'string' } }, {})).toThrow('shares its table');
    }
  });

  it('needs examples that work', () => {
    expect(() => defineFilter(Book, { title: { type: 'string' } }, { Wrong: 'titel == "x"' })).toThrow('did you mean title?');
  });
});
