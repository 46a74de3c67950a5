import { findStructureFault, jsonPointer } from './json-structure.js';

describe('the structure of JSON', () => {
  it.each([
    '{}',
    '[]',
    '"text"',
    'null',
    '{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]}',
    '{"a":"\\"a\\":1,{[","b":"}]"}',
    '{"a,b":1,"a":2,"":3}',
    '["a","a"]',
    '{"a":"\\\\","b":"\\\\\\"\\\\","c":1}',
    '{"a\\"":1,"a\\\\":2,"a":3}',
    `${'['.repeat(32)}${']'.repeat(32)}`,
  ])('has no fault: %s', (text) => {
    expect(findStructureFault(text)).toBeUndefined();
  });

  it.each([
    ['{"a":1,"a":1}', '/a', 'duplicate_name'],
    ['{ "a" : 1 , "\\u0061" : 2 }', '/a', 'duplicate_name'],
    ['{"a\\"":1,"b":"\\\\","a\\u0022":2}', '/a"', 'duplicate_name'],
    ['{"x":[0,{"a":1},{"a":1,"b":{},"a":2}]}', '/x/2/a', 'duplicate_name'],
    ['{"x":{"a/b":{"~":1,"~":2}}}', '/x/a~1b/~0', 'duplicate_name'],
    ['[[],[{"__proto__":1}]]', '/1/0/__proto__', 'reserved_name'],
    ['{"\\u005f_proto__":1}', '/__proto__', 'reserved_name'],
    [`${'['.repeat(33)}${']'.repeat(33)}`, '/0'.repeat(32), 'too_deep'],
  ])('has a fault: %s', (text, pointer, code) => {
    expect(findStructureFault(text)).toEqual({ pointer, code, detail: expect.any(String) });
  });
});

describe('a JSON Pointer', () => {
  it('escapes as RFC 6901 says', () => {
    expect(jsonPointer([])).toBe('');
    expect(jsonPointer(['a/b', 'm~n', 0, ''])).toBe('/a~1b/m~0n/0/');
  });
});
