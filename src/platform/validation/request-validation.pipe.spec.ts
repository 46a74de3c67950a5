import type { Type as Class } from '@nestjs/common';
import { Type } from 'class-transformer';
import * as rules from 'class-validator';
import { quickCheckOf, RequestValidationPipe } from './request-validation.pipe.js';

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
