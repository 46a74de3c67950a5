import { FilterError, isLiteral, isNull, parseExpression } from './parse-expression.js';

/** The error of an expression, whose faulty part it quotes. */
function errorOf(expression: string): { code: string; part: string; message: string } {
  try {
    parseExpression(expression);
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    return { code: error.code, part: expression.slice(error.start), message: error.message };
  }
  throw new Error('It is CEL.');
}

describe('what is not CEL', () => {
  it.each([
    ['name = "x"', '= "x"', '"="; did you mean `==`?'],
    ['name & "x"', '& "x"', '"&"; did you mean `&&`?'],
    ['name | "x"', '| "x"', '"|"; did you mean `||`?'],
    ['name And "x"', 'And "x"', '"And"; did you mean `&&`?'],
    ['name OR "x"', 'OR "x"', '"OR"; did you mean `||`?'],
    ['name is "x"', 'is "x"', '"is"; did you mean `==`?'],
    ['name like "x"', 'like "x"', '"like"; did you mean `.contains("…")`?'],
    ['name == “x”', '“x”', '"“"; did you mean `"`?'],
    ['name == ‘x’', '‘x’', '"‘"; did you mean `\'`?'],
    ['name == )', ')', '")"'],
    ['[1,,2]', ',2]', '","'],
    ['== 5', '== 5', '"=="'],
    ['name == "x" 😀', '😀', '"😀"'],
    ['name abcdefghijk', 'abcdefghijk', '"abcdefgh"'],
  ])('%s is refused, with the fix where it is another language', (expression, part, message) => {
    expect(errorOf(expression)).toEqual({ code: 'syntax', part, message: `has an unexpected ${message}` });
  });

  it.each(['name == ', '(name == "x"', 'name ? true'])('%s ends unexpectedly', (expression) => {
    const message = 'ends unexpectedly: a value or a closing character is missing';
    expect(errorOf(expression)).toEqual({ code: 'syntax', part: '', message });
  });
});

it.each(['M{text: 1}', 'Name1{text: 1}', 'Name {text: 1}', 'Name \n {text: 1}'])(
  'a message is CEL that is not supported: %j',
  (message) => {
    const part = message.slice(message.indexOf('{'));
    expect(errorOf(message)).toEqual({
      code: 'unsupported',
      part,
      message: 'uses CEL that filters do not support: see the documentation',
    });
  },
);

it('a call with more arguments than CEL has is not supported', () => {
  const message = 'calls a function that is not supported: see the documentation';
  expect(errorOf(`name.contains(${Array(40).fill('"x"').join()})`)).toMatchObject({ code: 'unsupported', message });
});

it.each<[expression: string, literal: boolean]>([
  ['"x"', true],
  ['5', true],
  ['-5', true],
  ['true', true],
  ['null', true],
  ['timestamp("2026-01-01T00:00:00Z")', true],
  ['name', false],
  ['-name', false],
  ['!true', false],
  ['size("x")', false],
  ['name.timestamp()', false],
  ['["x"]', false],
])('%s is a literal: %p', (expression, literal) => {
  expect(isLiteral(parseExpression(expression))).toBe(literal);
});

it('only null is null', () => {
  expect(['null', '0', '""', 'false', 'name', '[]'].map((expression) => isNull(parseExpression(expression)))).toEqual([
    true,
    ...Array(5).fill(false),
  ]);
});
