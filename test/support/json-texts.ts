/** Texts by the categories of the JSON parsing test suite (seriot.ch/parsing_json.php): what RFC 8259 allows, forbids and leaves open. */

const raw = String.raw;
const hex = (bytes: string) => Buffer.from(bytes.replaceAll(' ', ''), 'hex');
const around = (before: string, bytes: string, after: string) =>
  Buffer.concat([Buffer.from(before), hex(bytes), Buffer.from(after)]);
/** A body whose name has these bytes. */
const named = (bytes: string) => around('{"name":"', bytes, '"}');

/** Literals of strings that must be read, with their values. */
export const validStrings: [literal: string, value: string][] = [
  [raw`"\u0060\u012a\u12AB"`, '`Īካ'],
  [raw`"\uD801\udc37"`, '𐐷'],
  [raw`"\ud83d\ude39\ud83d\uDC8d"`, '😹💍'],
  [raw`"\"\\\/\b\f\n\r\t"`, '"\\/\b\f\n\r\t'],
  [raw`"\\u0000"`, raw`\u0000`],
  [raw`"\""`, '"'],
  ['"a/*b*/c/*d//e"', 'a/*b*/c/*d//e'],
  [raw`"\\a"`, raw`\a`],
  [raw`"\\n"`, raw`\n`],
  [raw`"\u0012x"`, '\u0012x'],
  [raw`"\uFFFF"`, '\uFFFF'],
  ['"\uFFFF"', '\uFFFF'],
  ['"\u{10FFFF}"', '\u{10FFFF}'],
  [raw`"\uDBFF\uDFFE"`, '\u{10FFFE}'],
  ['"\u{1BFFF}"', '\u{1BFFF}'],
  ['"x\u2028\u2029"', 'x\u2028\u2029'],
  [raw`"\u0061\u30af\u30EA\u30b9"`, 'aクリス'],
  [raw`"new\u000Aline"`, 'new\nline'],
  ['"\u007F"', '\u007F'],
  [raw`"\u0022 \u005C"`, '" \\'],
  ['"π ⍂㈴⍂ €𝄞"', 'π ⍂㈴⍂ €𝄞'],
  [raw`"\u200B\u2064"`, '\u200B\u2064'],
  [raw`"\uFDD0\uFFFE"`, '\uFDD0\uFFFE'],
  [raw`"\uFEFFx"`, '\uFEFFx'],
  ['"\uFEFFx"', '\uFEFFx'],
  ['"asd "', 'asd '],
  [raw`"e\u0301 é"`, 'e\u0301 é'],
];

/** Bodies that must be read, each of an item with the name `x`. */
export const validBodies: string[] = [
  '{"name":"x"}',
  ' \t\r\n{ "name"\n:\t"x"\r} \n\t',
  '{"name":"x"}\n',
  raw`{"n\u0061me":"\u0078"}`,
  '{"name":"x","description":null}',
  '{"name":"x","description":""}',
  // A name that is given twice.
  '{"name":"a","name":"x"}',
  '{"name":"x","name":"x"}',
  '{"name":1,"name":"x"}',
];

/** Values that must be read, and that no property of an item may have. */
export const validValues: string[] = [
  ...'123 -0 0e+1 0E1 1E22 1E-2 1e+2 123e45 123.456e78 1.5 -0.000000000000000000000000000000000000000000000000001'.split(
    ' ',
  ),
  ...'true false null [] [[]] [[],[[]]] [1,null,"",{}] {} {"":0} {"a":{"b":[]}}'.split(' '),
  '[ 1\n,\t2 ]',
  '{"a":"b","a":"c"}',
  raw`{"foo\u0000bar":42}`,
];

/** Bodies of JSON that is no object. */
export const otherValues = ['"x"', '1', 'true', 'null', '[]', '["name"]', ' [ ] ', '""'];

/** Values that must not be read. */
const invalidValues: string[] = [
  ...'-01 -2. .2e-3 0.3e+ 0.3e 0.e1 0e+ 0e 1.0e+ 1.0e- 1.0e 1eE2 2.e+3 2.e3 9.e+ 1+2 +1 ++1234 +Inf -Inf Inf NaN -NaN'.split(
    ' ',
  ),
  ...'Infinity -Infinity 0x1 0x42 0xG - -foo -1x 012 -012 1ea 1.2a-3 .123 -.123 1_000 1e1.5 ١ １ 0b1 1n 1.2.3 --1 - 1ex'.split(
    ' ',
  ),
  ...'tru fals nul True TRUE undefined nulll abc *'.split(' '),
  ...'[1 [" [1,, [1,] [,1] [,] [1,,2] ["",] [*] [1:2] [3[4]] ["x"]] [[["x"] [a [1}] ["a":1] [1]x ["a"1]'.split(' '),
  ...`{"a" {"a": {"a":1 {"a":1,} {"a":1,,} {,"a":1} {:1} {1:1} {a:1} {'a':1} {"a"::1} {"a",1} {"a":1:2} {"a"} {["a":1]}`.split(
    ' ',
  ),
  ...'{"a":1/*c*/} {"a":1}//c {"a":1}#c {"a":1"b":2} {null:1} {"a":"b"}} {9999E9999:1} {"a":{}'.split(' '),
  ...raw`"\u" "\u0" "\u00" "\u00A" "\u123g" "\uD834\u" "\uD834\uDd" "\uD800\u1x" "\x00" "\a" "\'" "\{" "\0" "\x0a"`.split(
    ' ',
  ),
  ...raw`"\U0001F600" "\é" "\🌀" "\u{1}" "\\\" "a\ \u0020"x" "x"\n 'x' " "a x" ""x "\N" “x”`.split(' '),
  '"\\"',
  '"a" "b"',
  '`x`',
  '"\u0000"',
  '"new\nline"',
  '"a\tb"',
  '"a\u001Fb"',
  '"a\rb"',
  '"\b"',
  // White space is four characters.
  '\f1',
  '\v1',
  '\u00A01',
  '1\u2060',
  '1\u2028',
  '1\u3000',
  '1\uFEFF',
];

/** Bodies that must not be read. */
export const invalidBodies: (string | Buffer)[] = [
  ...invalidValues.flatMap((value) => [`{"name":"x","other":${value}}`, `{"name":${value}}`]),
  '{',
  '}',
  '{}}',
  '{"name":"x"}}',
  '{"name":"x"',
  '{"name":"x"]',
  '["name":"x"]',
  '{{"name":"x"}}',
  '({"name":"x"})',
  '{"name":"x"}{"name":"x"}',
  '{"name":"x"},',
  '{"name":"x"};',
  '{"name":"x"}x',
  '{"name":"x"}#',
  '<{"name":"x"}>',
  ' ',
  '\n',
  '/**/{"name":"x"}',
  '{"name":"x"}//',
  `{'name':'x'}`,
  '{name:"x"}',
  '{"name"="x"}',
  '{"name";"x"}',
  '{"name":"x" "a":1}',
  '{"name":"x"}\0',
  '\0{"name":"x"}',
  '{\0"name":"x"}',
  '{"name":"x"\f}',
  '\u2060{"name":"x"}',
  '\uFEFF\uFEFF{"name":"x"}',
  raw`{"name\u":"x"}`,
  raw`\u007B"name":"x"\u007D`,
  '{"name":"x","":}',
  '{"":"x"',
  'name=x',
  '<name>x</name>',
  'name: x',
  // A byte order mark alone.
  '\uFEFF',
];

/** Bodies that are not UTF-8: truncated, overlong, surrogates, beyond Unicode, UTF-16 and UTF-32, with byte order mark and without. */
export const otherEncodings: Buffer[] = [
  ...[
    'ff',
    'e5',
    'e9',
    '81',
    'c0 80',
    'c0 af',
    'e0 80 af',
    'e0 ff',
    'fc 80 80 80 80 80',
    'fc 83 bf bf bf bf',
    'f4 bf bf bf',
  ].map(named),
  ...[
    'ed a0 80',
    'ed bf bf',
    'ed a0 bd ed b8 80',
    'f8 88 80 80 80',
    'f0 80 80 80',
    'c3',
    'e2 82',
    'f0 9f 98',
    'fe',
    'c3 28',
  ].map(named),
  around('{"', 'e9', '":1,"name":"x"}'),
  around('{"name":"x","other":', 'e5', '}'),
  around('', 'ff', '{"name":"x"}'),
  around('{"name":"x"}', 'e5', ''),
  around('', 'fe ff', '{"name":"x"}'),
  ...[true, false].map((isMarked) => Buffer.from(`${isMarked ? '\uFEFF' : ''}{"name":"é"}`, 'utf16le')),
  ...[true, false].map((isMarked) => Buffer.from(`${isMarked ? '\uFEFF' : ''}{"name":"é"}`, 'utf16le').swap16()),
  Buffer.concat([
    hex('ff fe 00 00'),
    Buffer.from(Uint32Array.from('{"name":"é"}', (character) => character.charCodeAt(0)).buffer),
  ]),
];
