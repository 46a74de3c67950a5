import * as fc from 'fast-check';
import { findExcess } from './json-size.js';

const codeOf = (json: string) => findExcess(json, 100)?.[0];
const repeat = (count: number, text: string) => Array.from({ length: count }, () => text).join();

/** Names and elements of a parsed value. */
function membersOf(value: unknown): number {
  const members = typeof value === 'object' && value !== null ? Object.values(value) : [];
  return members.reduce((sum: number, member) => sum + 1 + membersOf(member), 0);
}

/** Text that looks like structure, with escapes of all kinds. */
const text = fc.string({ unit: fc.constantFrom(...'{ } [ ] , : " \\ / \n \u0000 é 😀'.split(' '), ' '), maxLength: 8 });
const values = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, text, fc.double(), fc.constantFrom(null, true), tie('list'), tie('object')),
  list: fc.array(tie('value'), { maxLength: 8 }),
  object: fc.dictionary(text, tie('value'), { maxKeys: 8 }),
})).value;

it('counts names and elements of all levels, whatever their texts and the spaces between them', () => {
  fc.assert(
    fc.property(values, fc.constantFrom(undefined, 1, '\t', '\r\n'), (value, space) => {
      const json = JSON.stringify(value, null, space);
      const others = 99 - membersOf(value);
      const full = `{"a":${json},"b":[${repeat(others - 1, '0')}]}`;
      fc.pre(others > 1);
      expect([codeOf(full), codeOf(full.replace(/.$/, ',"c":0}')), JSON.parse(full)]).toEqual([
        undefined,
        'too_many',
        expect.anything(),
      ]);
    }),
  );
});

it.each([
  ['names', (count: number) => `{${repeat(count, '"same":1')}}`],
  ['elements', (count: number) => `[${repeat(count, '1')}]`],
  ['empty objects and lists', (count: number) => `[${repeat(count / 2, '{ },[\n]')}]`],
  ['objects within objects', (count: number) => `[${repeat(count / 2, '{"a":[]}')}]`],
])('allows at most 100 %s [body-size]', (_name, jsonOf) => {
  expect([codeOf(jsonOf(100)), codeOf(jsonOf(102))]).toEqual([undefined, 'too_many']);
});

it.each(['{', '['])('allows at most 32 levels of %s [body-size]', (opening) => {
  const jsonOf = (levels: number) => (opening === '{' ? '{"a":' : opening).repeat(levels) + opening;
  expect([codeOf(jsonOf(31)), codeOf(jsonOf(32))]).toEqual([undefined, 'too_deep']);
});

it.each(['', '"', '"\\', ']]]]', '{"a', '\\'.repeat(100)])('leaves malformed JSON to the parser: %j', (json) => {
  expect(codeOf(json)).toBeUndefined();
});
