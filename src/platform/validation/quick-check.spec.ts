import { IsInt, IsOptional, ValidateNested } from 'class-validator';
import { assert, constantFrom, dictionary, oneof, property, string } from 'fast-check';
import { quickCheckOf } from './quick-check.js';
import { validateInput } from './validate-input.js';
import { Text } from './properties.decorators.js';

class Thing {
  @Text({ description: 'x', example: 'x', maximumLength: 5, notBlank: true })
  declare readonly name: string;

  @Text({ description: 'x', example: 'x', maximumLength: 3, optional: true })
  declare readonly note?: string | null;
}

class Heavy extends Thing {
  @IsInt()
  @IsOptional()
  declare readonly weight?: number;
}

class Box {
  @ValidateNested()
  declare readonly thing: Thing;
}

describe('quickCheckOf', () => {
  it('says what class-validator says', () => {
    const values = oneof(string({ maxLength: 7 }), constantFrom<unknown>(null, undefined, 1, '\0', '\ud800', ' '));
    const inputs = dictionary(constantFrom('name', 'note', 'weight', 'other'), values);
    assert(
      property(inputs, constantFrom(Thing, Heavy), (input, type) => {
        const { value, faults } = validateInput<object>(type, input);
        return !quickCheckOf(type)(value) || faults.length === 0;
      }),
    );
    const { value } = validateInput(Thing, { name: 'abc' });
    expect(quickCheckOf(Thing)(value)).toBe(true);
  });

  it('leaves to class-validator what it does not know', () => {
    expect(quickCheckOf(Box)(Object.assign(new Box(), { thing: new Thing() }))).toBe(false);
  });
});
