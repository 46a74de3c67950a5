import { Type } from 'class-transformer';
import * as rules from 'class-validator';
import { quickCheckOf, RequestValidationPipe } from './request-validation.pipe.js';
import { collectRules } from './rule.js';

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

it('leaves no unhandled rejection of a rule that returns a promise unexpectedly', async () => {
  class Input {
    declare value?: unknown;
  }
  rules.ValidateBy({ name: 'late', validator: { validate: () => Promise.reject(new Error('late')) } })(Input.prototype, 'value');
  expect(quickCheckOf(Input)?.(new Input())).toBe(false);
  await new Promise(setImmediate);
});

it('names each wrong element of a list of objects at its own place', async () => {
  class Part {
    @rules.IsInt() declare size: number;
  }
  class Input {
    @rules.ValidateNested({ each: true }) @Type(() => Part) declare parts: Part[];
  }
  collectRules(Input);
  const problemOf = (parts: unknown): Promise<unknown> =>
    new RequestValidationPipe().transform({ parts }, { type: 'query', metatype: Input }).catch((error: unknown) => error);
  expect(await problemOf([{ size: 1 }, null, { size: 'x' }])).toMatchObject({
    errors: [
      { parameter: 'parts.1', code: 'type', detail: 'must be an object' },
      { parameter: 'parts.2.size', code: 'is_int' },
    ],
  });
  expect(await problemOf({})).toMatchObject({ errors: [{ parameter: 'parts', code: 'type', detail: 'must be an array' }, {}] });
});
