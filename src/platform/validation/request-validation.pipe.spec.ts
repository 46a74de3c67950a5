import { type Type as Class, ValidationPipe } from '@nestjs/common';
import { Type } from 'class-transformer';
import * as rules from 'class-validator';
import { RequestValidationPipe } from './request-validation.pipe.js';
import { quickCheckOf } from './rule.js';

const VALUES = ['a', '', 1, 3, -1, 1.5, NaN, true, null, undefined, [], ['a'], ['b', 'b'], {}, new Date(0), '2026-01-31'];

const DECORATORS: Record<string, PropertyDecorator[]> = {
  IsString: [rules.IsString()],
  'IsOptional, IsInt': [rules.IsOptional(), rules.IsInt()],
  'ValidateIf, IsInt': [rules.ValidateIf((_object, value) => value !== 'a'), rules.IsInt()],
  'Min, Max': [rules.Min(0), rules.Max(2)],
  Matches: [rules.Matches(/^a/)],
  ArrayUnique: [rules.ArrayUnique()],
  IsInstance: [rules.IsInstance(Date)],
  Allow: [rules.Allow()],
};

it.each(Object.entries(DECORATORS))('agrees with class-validator: %s', (_name, decorators) => {
  class Input {
    declare value?: unknown;
  }
  decorators.forEach((decorate) => {
    decorate(Input.prototype, 'value');
  });
  for (const value of VALUES) {
    const input = Object.assign(new Input(), { value });
    const isValid =
      rules.validateSync(input, { whitelist: true, forbidNonWhitelisted: true, forbidUnknownValues: true }).length === 0;
    expect([value, quickCheckOf(Input)?.(input)]).toEqual([value, isValid]);
    expect(quickCheckOf(Input)?.(Object.assign(new Input(), { value, other: 1 }))).toBe(false);
  }
});

@rules.ValidatorConstraint({ name: 'slow', async: true })
class SlowRule implements rules.ValidatorConstraintInterface {
  validate(): Promise<boolean> {
    return Promise.resolve(true);
  }
}

it.each<[string, PropertyDecorator]>([
  ['a rule for each element', rules.IsString({ each: true })],
  ['a rule of a group', rules.IsString({ groups: ['a'] })],
  ['nested objects', rules.ValidateNested()],
  ['what is defined', rules.IsDefined()],
  ['a rule that takes time', rules.Validate(SlowRule)],
])('leaves %s to class-validator', (_name, decorate) => {
  class Input {
    declare value?: unknown;
  }
  decorate(Input.prototype, 'value');
  expect(quickCheckOf(Input)).toBeUndefined();
});

class Point {
  @rules.IsInt() declare x: number;
}

class Shape {
  @rules.IsString() declare kind: string;
}

class Circle extends Shape {
  @rules.ValidateNested() @Type(() => Point) declare center: Point;
}

class Drawing {
  @rules.ValidateNested()
  @Type(() => Shape, {
    discriminator: { property: 'kind', subTypes: [{ name: 'circle', value: Circle }] },
    keepDiscriminatorProperty: true,
  })
  declare shape: Shape;
}

class Message {
  @rules.ValidateNested() @Type(() => Point) declare at: Point;
}

it.each<[string, object, Class<object>, string, string]>([
  ['is none', { at: 5 }, Message, '/at', 'type'],
  ['is missing', {}, Message, '/at', 'required'],
  ['is none, of a class that the input chooses', { shape: { kind: 'circle', center: 5 } }, Drawing, '/shape/center', 'type'],
])(
  'rejects a nested object that %s, if no route documents the class [messages-validated]',
  async (_case, value, metatype, pointer, code) => {
    const input = new RequestValidationPipe().transform(value, { type: 'body', metatype });
    await expect(input).rejects.toMatchObject({ errors: [expect.objectContaining({ pointer, code })] });
  },
);

it.each([
  [{ parts: { a: { name: 'x' } } }, []],
  [{ parts: { a: { name: 1 } } }, ['/parts/a/name']],
  [{ parts: { a: 1 } }, ['/parts']],
])('validates the values of a Map: %j', async (value, pointers) => {
  class Part {
    @rules.IsString() declare name: string;
  }
  class Parts {
    @rules.ValidateNested({ each: true })
    @Type(() => Part)
    declare parts: Map<string, Part>;
  }
  const input = new RequestValidationPipe().transform(value, { type: 'body', metatype: Parts });
  const found = await input.then(
    () => [],
    ({ errors }: { errors: { pointer: string }[] }) => errors.map(({ pointer }) => pointer),
  );
  expect(found).toEqual(pointers);
});

/** The input, or the pointers of its faults, by Nest's pipe with the same options or the one here. */
async function outcomesOf(metatype: Class<object>, value: object) {
  const options = { transform: true, whitelist: true, forbidNonWhitelisted: true, forbidUnknownValues: true };
  const outcomeOf = (pipe: ValidationPipe) =>
    pipe.transform(structuredClone(value), { type: 'body', metatype }).then(
      (input: unknown) => ({ input }),
      ({ errors }: { errors?: { pointer: string }[] }) => ({ pointers: errors?.map(({ pointer }) => pointer) }),
    );
  return { stock: await outcomeOf(new ValidationPipe(options)), own: await outcomeOf(new RequestValidationPipe()) };
}

const rule = (validate: (value: unknown) => unknown, options: rules.ValidationOptions = {}) =>
  rules.ValidateBy({ name: 'own', validator: { validate: (value) => validate(value) as boolean } }, options);

it.each<[string, unknown[], (value: unknown) => unknown]>([
  ['null, of `&&`', [null, 'ab', 'abcd'], (value) => value && (value as string).length > 2],
  ['the result of match()', ['abc', 'xyz'], (value) => String(value).match(/^a/)],
  ['what find() finds', [2, 5], (value) => [1, 2].find((each) => each === value)],
])('takes what is truthy for valid, as class-validator does, of a rule that returns %s', async (_, values, validate) => {
  class Input {
    declare value?: unknown;
  }
  rule(validate)(Input.prototype, 'value');
  for (const value of values) {
    const { stock, own } = await outcomesOf(Input, { value });
    expect(own).toEqual('input' in stock ? stock : { pointers: ['/value'] });
  }
});

it.each<[string, (value: unknown) => unknown, string[]]>([
  ['what is truthy', (value) => (Number(value) > 0 ? 'yes' : ''), ['/values/1']],
  ['promises without a mark', (value) => Promise.resolve(Number(value) > 0), ['/values']],
])('blames no valid element for a rule that returns %s', async (_, validate, pointers) => {
  class Input {
    declare values?: unknown;
  }
  rule(validate, { each: true })(Input.prototype, 'values');
  const { stock, own } = await outcomesOf(Input, { values: [1, -2] });
  expect([own, stock]).toEqual([{ pointers }, { pointers: undefined }]);
  expect(await outcomesOf(Input, { values: [1, 2] })).toMatchObject({ own: { input: { values: [1, 2] } } });
});

it('takes properties with a setter, and no other name that a prototype has', async () => {
  class Person {
    #years = 0;

    @rules.IsInt()
    get age(): number {
      return this.#years;
    }

    set age(age: number) {
      this.#years = age;
    }

    @rules.Allow()
    get isAdult(): boolean {
      return this.#years > 17;
    }
  }
  class Employee extends Person {}
  const found = (await new RequestValidationPipe().transform({ age: 5 }, { type: 'body', metatype: Employee })) as Person;
  expect([found.age, found.isAdult]).toEqual([5, false]);
  const hostile = JSON.parse(
    '{"age": 5, "isAdult": true, "__proto__": {"isAdult": true}, "prototype": 1, "toString": 1}',
  ) as object;
  const refused = new RequestValidationPipe().transform(hostile, { type: 'body', metatype: Employee });
  const unknown = ['/isAdult', '/__proto__', '/prototype', '/toString'];
  await expect(refused).rejects.toMatchObject({ errors: unknown.map((pointer) => ({ pointer, code: 'unknown' })) });
});

it('reports all faults beside a lone surrogate, for which some rules throw [text-characters]', async () => {
  class Person {
    @rules.IsEmail() declare email: string;
    @rules.IsEmail({}, { each: true }) declare others: string[];
    @rules.IsInt() declare age: number;
  }
  const value = { email: 'a\ud800@example.com', others: ['\udfff'], age: 'x' };
  const refused = new RequestValidationPipe().transform(value, { type: 'body', metatype: Person });
  const faults = { '/email': 'character', '/others/0': 'character', '/age': 'is_int' };
  const expected = Object.entries(faults).map(([pointer, code]): unknown => expect.objectContaining({ pointer, code }));
  await expect(refused).rejects.toMatchObject({ errors: expect.arrayContaining(expected) });
});

it('validates a part with its Standard Schema, also if its parameter has a class', async () => {
  const schema = {
    '~standard': { version: 1 as const, vendor: 'own', validate: () => ({ issues: [{ message: 'is wrong' }] }) },
  };
  const key = new RequestValidationPipe().transform('a', { type: 'param', data: 'id', metatype: URL, schema });
  await expect(key).rejects.toMatchObject({ errors: [{ parameter: 'id', code: 'type', detail: 'is wrong' }] });
});

it('takes no names out of objects that it does not validate', async () => {
  const value = { constructor: 'Ferrari', nested: { prototype: 1 } };
  const result = await new RequestValidationPipe().transform(value, { type: 'custom', metatype: Object });
  expect(result).toEqual({ constructor: 'Ferrari', nested: { prototype: 1 } });
});

it('leaves no unhandled rejection of a rule that returns a promise unexpectedly', async () => {
  class Input {
    declare value?: unknown;
  }
  rules.ValidateBy({ name: 'late', validator: { validate: () => Promise.reject(new Error('late')) } })(
    Input.prototype,
    'value',
  );
  expect(quickCheckOf(Input)?.(new Input())).toBe(false);
  await new Promise(setImmediate);
});

it('says of a value that it is not valid if its rule does not say more', async () => {
  class Input {
    declare value?: unknown;
  }
  rule((value) => value === 1)(Input.prototype, 'value');
  const input = new RequestValidationPipe().transform({ value: 2 }, { type: 'body', metatype: Input });
  const errors = [{ pointer: '/value', code: 'own', detail: 'is not valid' }];
  await expect(input).rejects.toMatchObject({ errors });
});

describe('classes that the discriminator of @Type() chooses', () => {
  class Spot {
    @rules.IsInt() declare x: number;
  }
  class Figure {
    @rules.IsIn(['circle', 'group']) declare kind: string;
  }
  class Disc extends Figure {
    @rules.ValidateNested()
    @Type(() => Spot)
    declare center: Spot;

    get area(): number {
      return 1;
    }
  }
  class Group extends Figure {
    declare parts: Figure[];
  }
  class Sketch {
    declare shape: Figure;
    declare others: Figure[];
  }
  const subTypes = [
    { value: Disc, name: 'circle' },
    { value: Group, name: 'group' },
  ];
  const chosen = Type(() => Figure, { keepDiscriminatorProperty: true, discriminator: { property: 'kind', subTypes } });
  const properties = [
    [Group, 'parts', true],
    [Sketch, 'shape', false],
    [Sketch, 'others', true],
  ] as const;
  for (const [{ prototype }, property, each] of properties) {
    rules.ValidateNested({ each })(prototype, property);
    chosen(prototype, property);
  }
  const circle = { kind: 'circle', center: { x: 1 } };

  it.each<[object, string[]]>([
    [{ shape: circle, others: [{ kind: 'group', parts: [circle] }] }, []],
    [{ shape: { kind: 'circle' }, others: [] }, ['/shape/center']],
    [{ shape: { kind: 'circle', center: [] }, others: [{ kind: 'circle' }] }, ['/shape/center', '/others/0/center']],
    [{ shape: { ...circle, area: 5 }, others: [{ ...circle, area: 5 }] }, ['/shape/area', '/others/0/area']],
    [{ shape: { kind: 'group', parts: [{ kind: 'group' }] }, others: [] }, ['/shape/parts/0/parts']],
    [{ shape: { kind: 'group', parts: circle }, others: [] }, ['/shape/parts']],
    [{ shape: { kind: 'oval' }, others: [] }, ['/shape/kind']],
  ])('are validated like any other: %j', async (value, pointers) => {
    const { stock, own } = await outcomesOf(Sketch, value);
    expect(own).toEqual(pointers.length === 0 ? stock : { pointers });
  });
});
