import { CONDITION, etagOf, matches, opaqueTags, parseCondition, versionsOf } from './entity-tags.js';

const id = '0190163d-8694-739b-aea5-966c26f8ad91';
const other = '0190163d-8694-739b-aea5-966c26f8ad92';

it('makes a strong tag of the id, in any case, and the version', () => {
  expect(etagOf({ id, version: 1 })).toBe('"1-Ze-_OBVxzGTLGYrB"');
  expect(etagOf({ id: id.toUpperCase(), version: 1 })).toBe('"1-Ze-_OBVxzGTLGYrB"');
  expect(etagOf({ id, version: 12 })).toBe('"12-Ze-_OBVxzGTLGYrB"');
  expect(etagOf({ id: other, version: 1 })).not.toBe(etagOf({ id, version: 1 }));
});

it.each<[value: string, tags: '*' | string[]]>([
  ['*', '*'],
  ['"a"', ['"a"']],
  ['""', ['""']],
  ['W/"a"', ['W/"a"']],
  ['"a","b"', ['"a"', '"b"']],
  ['"a" , W/"b"\t,\t"c"', ['"a"', 'W/"b"', '"c"']],
  ['"a,b", "W/", "*"', ['"a,b"', '"W/"', '"*"']],
  ['"!#$%&\'()*+-./:;<=>?@[\\]^_`{|}~\u0080\u00ff"', ['"!#$%&\'()*+-./:;<=>?@[\\]^_`{|}~\u0080\u00ff"']],
  [' \t"a"\t ', ['"a"']],
  ['', []],
  [' ', []],
  [',', []],
  [', "a",, ,"b",', ['"a"', '"b"']],
])('reads %j', (value, tags) => {
  expect(parseCondition(value)).toEqual(tags);
  expect(new RegExp(CONDITION.source, 'u').test(value)).toBe(true);
});

it.each([
  'a',
  '"a',
  'a"',
  '"a"b',
  'a"b"',
  '"a" "b"',
  '"a""b"',
  '"a";"b"',
  'w/"a"',
  'W"a"',
  'W/ "a"',
  'W/W/"a"',
  "'a'",
  '"a b"',
  '"a\tb"',
  '"\u007f"',
  '"\u0100"',
  '* ',
  ' *',
  '**',
  '*,*',
  '*, "a"',
  '"a", *',
  '"a"\n',
  '"a",\v"b"',
])('does not read %j', (value) => {
  expect(parseCondition(value)).toBeUndefined();
});

it('compares strongly, or weakly where asked', () => {
  const tags = ['W/"a"', '"b"', '"W/"'];
  expect([matches(tags, '"a"'), matches(tags, '"b"'), matches([], '"b"'), matches('*', '"z"')]).toEqual([
    false,
    true,
    false,
    true,
  ]);
  expect([opaqueTags(tags), opaqueTags('*')]).toEqual([['"a"', '"b"', '"W/"'], '*']);
});

it('finds the versions in the tags of a row, spelled as they are made', () => {
  const [, digest = ''] = /-(.*)"$/.exec(etagOf({ id, version: 1 })) ?? [];
  const versions = ['3', '03', '+3', '-3', '3.0', '3e0', ' 3', '', 'x', '99999999999999999999', '12'];
  const tags = versions.map((version) => `"${version}-${digest}"`);
  expect(versionsOf(tags, id)).toEqual(['3', '12']);
  expect(versionsOf(tags, id.toUpperCase())).toEqual(['3', '12']);
  expect(versionsOf([...tags.map((tag) => `W/${tag}`), ...tags.map((tag) => `${tag}x`)], id)).toEqual([]);
  expect([versionsOf(tags, other), versionsOf('*', id), versionsOf([], id)]).toEqual([[], [], []]);
});
