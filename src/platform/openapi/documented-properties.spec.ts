import type { Type as Class } from '@nestjs/common';
import { ApiProperty, PartialType } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  ArrayNotEmpty,
  IsArray,
  IsDateString,
  IsEmail,
  IsEnum,
  IsIn,
  IsInt,
  IsNotEmpty,
  IsNumberString,
  IsOptional,
  IsString,
  Length,
  Matches,
  Max,
  Min,
  MinLength,
  ValidateNested,
} from 'class-validator';
import { collectRules, rulesOf } from '../validation/rule.js';
import { checkClassNames, documentedProperties, documentRules } from './documented-properties.js';

enum Genre {
  Crime = 'crime',
  Poetry = 'poetry',
}

enum Size {
  Small,
  Large = 5,
}

class Tags {
  @IsArray()
  @ArrayMaxSize(5)
  declare tags: unknown[];

  @IsString({ each: true })
  declare names: string[];

  @Length(1, 5, { each: true })
  declare words: string[];

  @IsInt()
  declare count: number;

  @IsEmail()
  declare address: string;

  @IsDateString()
  declare since: string;
}

class Author {
  @IsString()
  declare name: string;
}

class Work {
  @ValidateNested()
  @Type(() => Author)
  declare author: Author;

  @IsOptional()
  @ValidateNested({ each: true })
  @Type(() => Work)
  declare parts?: Work[];

  @IsEnum(Genre)
  declare genre: Genre;

  @IsEnum(Genre, { each: true })
  declare others: Genre[];

  @IsEnum(Size)
  declare size: Size;

  @IsInt()
  @IsIn([1, 2])
  declare volume: number;

  @IsIn(['auto', 2])
  declare width: string | number;
}

class Offer {
  @IsOptional()
  @IsNotEmpty()
  @MinLength(2)
  declare name?: string | null;

  @IsOptional()
  @ArrayNotEmpty()
  @ArrayMaxSize(3)
  @IsNumberString({}, { each: true })
  declare ids?: string[] | null;

  @Matches(/^[a-z]+$/)
  declare code: string | undefined;

  @Min(1)
  @IsInt()
  @Max(9)
  declare count: number;

  @Min(0.5)
  declare price: number;

  @ArrayMinSize(2, { each: true })
  declare pairs: number[][];

  @ArrayMaxSize(2)
  @ValidateNested({ each: true })
  @Type(() => Work)
  declare words: Work[];
}

class Base {
  @IsString()
  declare name: string;
}

class Sub extends Base {
  @IsOptional()
  declare name: string;
}

/** As the plugin of the Nest CLI compiles it: `secret` has `@ApiHideProperty()`. */
class Compiled {
  static _OPENAPI_METADATA_FACTORY() {
    return { name: { required: false, type: () => String, description: 'From the comment.' } };
  }

  @IsInt()
  declare name: string;

  @IsString()
  declare secret: string;
}

class Changed extends PartialType(Compiled) {}

class OnlyHidden {
  static _OPENAPI_METADATA_FACTORY() {
    return {};
  }

  @IsString()
  declare secret: string;
}

class Given extends PartialType(Author) {
  @ApiProperty({ type: 'string', format: 'password' })
  @IsInt()
  declare secret: string;
}

class Paging {
  @IsInt()
  page = 1;

  @IsInt()
  size?: number;

  @IsInt()
  get end(): number {
    throw new Error('There is no size.');
  }
}

class Money {
  @IsInt()
  readonly cents: number;

  constructor({ cents }: { cents: number }) {
    this.cents = cents;
  }
}

function documented(type: Class<object>) {
  documentRules(collectRules(type));
  return documentedProperties(type);
}

it('documents the types that the decorators of class-validator imply', () => {
  const required = true;
  expect(documented(Tags)).toEqual({
    tags: { type: 'array', items: {}, maxItems: 5, isArray: false, required },
    names: { type: 'string', isArray: true, required },
    words: { type: 'string', minLength: 1, maxLength: 5, isArray: true, required },
    count: { type: 'integer', isArray: false, required },
    address: { type: 'string', format: 'email', isArray: false, required },
    since: { type: 'string', format: 'date-time', isArray: false, required },
  });
});

it('documents the bounds of decorators, and types that TypeScript reflects as objects', () => {
  const { name, ids, ...others } = documented(Offer);
  expect(name).toEqual({ type: 'string', minLength: 2, nullable: true, isArray: false, required: false });
  expect(ids).toEqual({ type: 'string', minItems: 1, maxItems: 3, nullable: true, isArray: true, required: false });
  const required = true;
  expect(others).toEqual({
    code: { type: 'string', isArray: false, required },
    count: { type: 'integer', minimum: 1, maximum: 9, isArray: false, required },
    price: { type: 'number', minimum: 0.5, isArray: false, required },
    pairs: { type: 'array', items: {}, isArray: false, required },
    words: { type: Work, maxItems: 2, isArray: true, required },
  });
});

it('documents the values of enums with their type, and nested classes', () => {
  const { parts, width, ...others } = documented(Work);
  expect(others).toEqual({
    author: { type: Author, isArray: false, required: true },
    genre: { type: 'string', enum: ['crime', 'poetry'], isArray: false, required: true },
    others: { type: 'array', items: { type: 'string', enum: ['crime', 'poetry'] }, isArray: true, required: true },
    size: { type: 'number', enum: [0, 5], isArray: false, required: true },
    volume: { type: 'integer', enum: [1, 2], isArray: false, required: true },
  });
  expect(parts).toEqual({ type: Work, isArray: true, required: false });
  expect(width).toMatchObject({ anyOf: [{ enum: ['auto', 2] }] });
  expect(documentedProperties(Author)).toMatchObject({ name: { type: 'string' } });
});

it('documents a property that its class initializes as optional, unless the constructor needs arguments', () => {
  const { page, size, end } = documented(Paging);
  expect([page, size, end, documented(Money)['cents']].map((options) => options?.required)).toEqual([
    false,
    true,
    true,
    true,
  ]);
});

it('documents a subclass by its own rules, also after its base class', () => {
  const classes = [Base, Sub];
  const rules = new Map(classes.map((type) => [type, rulesOf(type)]));
  documentRules(rules);
  expect(classes.map((type) => documentedProperties(type)['name']?.required)).toEqual([true, false]);
});

it('leaves what @ApiProperty() or the plugin of the Nest CLI documents, and what this hides, as it is', () => {
  expect([documented(Compiled), documented(OnlyHidden)]).toEqual([{}, {}]);
  expect(documented(Changed)).toEqual({
    name: expect.objectContaining({ required: false, description: 'From the comment.' }),
  });
  expect(documented(Given)).toMatchObject({
    name: { type: 'string', required: false },
    secret: { type: 'string', format: 'password' },
  });
});

describe('classes of one name in the document', () => {
  /** As libraries make a class of a schema at each use. */
  const made = (schema: object) => Object.assign(class Made extends Author {}, { schema });

  it('may be made of one schema', () => {
    const schema = {};
    expect(() => checkClassNames([made(schema), made(schema)])).not.toThrow();
  });

  it('are an error if they differ [start-names]', () => {
    expect(() => checkClassNames([made({}), made({})])).toThrow('Several classes with the name Made');
    const other = () => Object.assign(class Other extends Author {}, { schema: undefined });
    expect(() => checkClassNames([other(), other()])).toThrow('Several classes with the name Other');
  });

  it('are named together', () => {
    const both = [made({}), made({}), class Spare extends Author {}, class Spare extends Author {}];
    expect(() => checkClassNames(both)).toThrow(/the name Made .*\n.* the name Spare /);
  });
});
