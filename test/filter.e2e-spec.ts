import { v7 } from 'uuid';
import { DataSource } from 'typeorm';
import { Item } from '../src/items/item.entity.js';
import type { PageBody, ProblemBody } from './support/api.js';
import { type Service, startService } from './support/service.js';

let service: Service;

/** Of 311 nodes: three lists of 100 with `in`, a field and brackets each, and two times `||`. */
const NODES_311 = Array.from({ length: 3 }, () => `name in [${Array(100).fill('"x"').join()}]`).join(' || ');

const TIME = 'timestamp("2026-01-01T00:00:00Z")';

/** By a letter each, oldest first. */
const ITEMS = {
  a: { created: '2024-06-14T10:14:09.300Z', name: 'Blue bicycle', description: 'Seven gears, one bell.' },
  b: { created: '2024-06-14T10:14:09.300Z', name: 'blue bicycle', description: null },
  c: { created: '2025-01-01T00:00:00.000Z', name: 'Red bicycle', description: '' },
  d: { created: '2025-06-01T00:00:00.000Z', name: '100% wool', description: 'a_b' },
  e: { created: '2025-12-31T23:59:59.999Z', name: '100 wool', description: 'a*b' },
  f: { created: '2026-01-01T00:00:00.000Z', name: 'back\\slash', description: `it's "quoted"` },
  g: { created: '2026-01-01T00:00:00.001Z', name: 'ÉCOLE', description: 'école' },
  h: { created: '2026-03-01T00:00:00.000Z', name: '😀', description: null },
  i: { created: '2026-03-02T00:00:00.000Z', name: '\uFEFFmark', description: '\uFFFD' },
  j: { created: '2026-03-03T00:00:00.000Z', name: 'line\nbreak', description: 'tab\there' },
  k: { created: '2026-03-04T00:00:00.000Z', name: 'Zebra', description: 'NULL' },
  l: { created: '2026-03-05T00:00:00.000Z', name: 'x', description: "1'; DROP TABLE items; --" },
};

type Letter = keyof typeof ITEMS;

const LETTERS = Object.keys(ITEMS) as Letter[];
const IDS = LETTERS.map((letter, seq) => v7({ msecs: Date.parse(ITEMS[letter].created), seq }));

const idOf = (letter: Letter) => IDS[LETTERS.indexOf(letter)];
const letterOf = (id: string) => LETTERS[IDS.indexOf(id)];

beforeAll(async () => {
  service = await startService();
  const rows = LETTERS.map((letter) => ({
    id: idOf(letter) ?? '',
    name: ITEMS[letter].name,
    description: ITEMS[letter].description,
  }));
  await service.app.get(DataSource).getRepository(Item).insert(rows);
});

afterAll(() => service.stop());

const ALL = 'abcdefghijkl';

describe('a filter finds', () => {
  it.each([
    // Nothing to find, or everything
    ['', ALL],
    ['   ', ALL],
    ['\n\t', ALL],
    ['true', ALL],
    ['false', ''],
    ['!false', ALL],
    ['!!!!true', ALL],
    ['true // not false', ALL],
    ['true && false || true', ALL],
    ['true || false && false', ALL],
    ['(true || false) && false', ''],
    // Equality of text
    ['name == "Blue bicycle"', 'a'],
    ['"Blue bicycle" == name', 'a'],
    ['name == "BLUE BICYCLE"', ''],
    ['name == ""', ''],
    ['name != "Blue bicycle"', 'bcdefghijkl'],
    ['!(name == "Blue bicycle")', 'bcdefghijkl'],
    ['name=="x"', 'l'],
    ['name == "100% wool"', 'd'],
    ['name == "100_ wool"', ''],
    ['name == "x" || name == "Zebra"', 'kl'],
    ['name == "x" && name == "Zebra"', ''],
    // String literals as CEL has them
    [`name == 'x'`, 'l'],
    [String.raw`name == "back\\slash"`, 'f'],
    [String.raw`name == r"back\slash"`, 'f'],
    [String.raw`name == R'back\slash'`, 'f'],
    [String.raw`name == "line\nbreak"`, 'j'],
    ['name == """line\nbreak"""', 'j'],
    [`name == '''line\nbreak'''`, 'j'],
    [String.raw`description == "it's \"quoted\""`, 'f'],
    [String.raw`description == 'it\'s "quoted"'`, 'f'],
    [`description == """it's "quoted\\""""`, 'f'],
    [String.raw`name == "\u00C9COLE"`, 'g'],
    [String.raw`name == "\U0001F600"`, 'h'],
    [String.raw`name == "\x78"`, 'l'],
    [String.raw`name == "\170"`, 'l'],
    [String.raw`description == "tab\there"`, 'j'],
    ['name == "😀"', 'h'],
    ['name == "\uFEFFmark"', 'i'],
    // What would do harm if it were not bound
    [`description == "1'; DROP TABLE items; --"`, 'l'],
    [`name == "' OR '1'='1"`, ''],
    ['name == "$1"', ''],
    ['name == ":filter0"', ''],
    // Order by code point, not by language
    ['name < "A"', 'de'],
    ['name >= "Z" && name < "["', 'k'],
    ['"Z" <= name && "[" > name', 'k'],
    ['name > "x"', 'ghi'],
    ['name >= "x"', 'ghil'],
    ['name > "\uFEFF"', 'hi'],
    ['name > "\uFFFD"', 'h'],
    ['name <= "100 wool"', 'e'],
    // Lists
    ['name in ["x", "Zebra", "no such"]', 'kl'],
    ['name in ["x",]', 'l'],
    ['name in []', ''],
    ['!(name in ["x"])', 'abcdefghijk'],
    ['description in ["a_b", null]', 'bdh'],
    ['description in [null]', 'bh'],
    ['!(description in ["a_b"])', 'abcefghijkl'],
    ['!(description in [null])', 'acdefgijkl'],
    [`name in [${Array.from({ length: 100 }, (_, index) => (index === 50 ? '"x"' : '"y"')).join()}]`, 'l'],
    // Searches
    ['name.contains("bicycle")', 'abc'],
    ['name.contains("Bicycle")', ''],
    ['name.contains("%")', 'd'],
    ['name.contains("_")', ''],
    ['description.contains("_")', 'd'],
    ['description.contains("*")', 'e'],
    [String.raw`name.contains("\\")`, 'f'],
    ['name.contains("")', ALL],
    ['description.contains("")', 'acdefgijkl'],
    ['name.startsWith("100")', 'de'],
    ['name.startsWith("100%")', 'd'],
    ['name.startsWith("blue")', 'b'],
    ['name.startsWith("")', ALL],
    ['name.endsWith("wool")', 'de'],
    ['name.endsWith("% wool")', 'd'],
    ['description.endsWith("\\"")', 'f'],
    ['name.icontains("BICYCLE")', 'abc'],
    ['name.icontains("école")', 'g'],
    ['description.icontains("ÉCOLE")', 'g'],
    ['name.icontains("%")', 'd'],
    ['name.lowerAscii() == "blue bicycle"', 'ab'],
    ['name.lowerAscii() == "Blue bicycle"', ''],
    ['name.lowerAscii().startsWith("blue")', 'ab'],
    ['name.lowerAscii().contains("zebra")', 'k'],
    ['name.lowerAscii() == "École"', 'g'],
    ['name.lowerAscii() == "école"', ''],
    ['name.lowerAscii().endsWith("cole")', 'g'],
    ['name.lowerAscii() in ["zebra", "x"]', 'kl'],
    ['name.lowerAscii().contains("É")', 'g'],
    ['name.lowerAscii().icontains("éCOLE")', 'g'],
    // Absent descriptions
    ['description == null', 'bh'],
    ['null == description', 'bh'],
    ['description != null', 'acdefgijkl'],
    ['!(description == null)', 'acdefgijkl'],
    ['description == "NULL"', 'k'],
    ['description == ""', 'c'],
    ['description == "no such"', ''],
    ['description != "NULL"', 'abcdefghijl'],
    ['!(description == "NULL")', 'abcdefghijl'],
    ['!(description != "NULL")', 'k'],
    ['description < "a"', 'ackl'],
    ['!(description < "a")', 'defgij'],
    ['description.contains("bell")', 'a'],
    ['!description.contains("bell")', 'cdefgijkl'],
    ['description.contains("bell") || name == "blue bicycle"', 'ab'],
    ['!(description.contains("bell") && name == "x")', 'abcdefghijkl'],
    ['description.contains("bell") || true', ALL],
    ['description.contains("bell") && false', ''],
    ['!(description.lowerAscii() == "null")', 'acdefgijl'],
    ['!(description.lowerAscii() in [])', 'acdefgijkl'],
    ['description == null || description.contains("b")', 'abdehj'],
    // Ids, by value
    [`id == "${idOf('c')}"`, 'c'],
    [`id == "${idOf('c')?.toUpperCase()}"`, 'c'],
    [`id != "${idOf('c')}"`, 'abdefghijkl'],
    [`id in ["${idOf('c')}", "${idOf('k')?.toUpperCase()}"]`, 'ck'],
    [`id > "${idOf('j')}"`, 'kl'],
    [`"${idOf('b')}" >= id`, 'ab'],
    // Creation times
    ['createdAt == timestamp("2024-06-14T10:14:09.300Z")', 'ab'],
    ['createdAt == timestamp("2024-06-14T12:14:09.3+02:00")', 'ab'],
    ['createdAt == timestamp("2024-06-14T10:14:09.300000001Z")', ''],
    ['createdAt != timestamp("2024-06-14T10:14:09.300Z")', 'cdefghijkl'],
    ['createdAt != timestamp("2024-06-14T10:14:09.300000001Z")', ALL],
    ['createdAt < timestamp("2025-01-01T00:00:00Z")', 'ab'],
    ['createdAt <= timestamp("2025-01-01T00:00:00Z")', 'abc'],
    ['createdAt < timestamp("2024-06-14T10:14:09.300000001Z")', 'ab'],
    ['createdAt > timestamp("2024-06-14T10:14:09.299999999Z")', ALL],
    ['createdAt > timestamp("2025-12-31T23:59:59.9985Z")', 'efghijkl'],
    ['createdAt >= timestamp("2025-12-31T23:59:59.9995Z")', 'fghijkl'],
    ['timestamp("2026-01-01T00:00:00.001Z") <= createdAt', 'ghijkl'],
    ['createdAt >= timestamp("2026-01-01T00:00:00Z") && createdAt < timestamp("2026-02-01T00:00:00Z")', 'fg'],
    ['createdAt in [timestamp("2026-01-01T00:00:00Z"), timestamp("2026-03-05T00:00:00Z")]', 'fl'],
    ['createdAt in []', ''],
    ['createdAt > timestamp("1969-12-31T23:59:59Z")', ALL],
    ['createdAt < timestamp("1969-12-31T23:59:59Z")', ''],
    ['createdAt < timestamp("9999-12-31T23:59:59.999999999Z")', ALL],
    ['createdAt > timestamp("0001-01-01T00:00:00Z")', ALL],
    // All together, and at the bounds
    ['(name.startsWith("Blue") || name.startsWith("Red")) && !description.contains("bell")', 'c'],
    ['name.contains("a") && name.contains("r") && name.contains("b") && description.contains("U")', 'k'],
    [Array.from({ length: 32 }, () => 'name == "x"').join(' || '), 'l'],
    [`${'('.repeat(16)}name == "x"${')'.repeat(16)}`, 'l'],
    [`${'!'.repeat(16)}true`, ALL],
    ['name == "x"'.padEnd(2000), 'l'],
    [`${NODES_311} || name in [${Array(85).fill('"x"').join()}]`, 'l'],
    [`name == "${'😀'.repeat(1000)}"`, ''],
  ])('%s', async (filter, letters) => {
    const { status, body } = await service.api.list({ filter });
    expect({ status, found: body.items.map(({ id }) => letterOf(id)).join('') }).toEqual({
      status: 200,
      found: Array.from(letters).toReversed().join(''),
    });
  });
});

/** A filter, in which the faulty part stands between two ¦; then the code and a part of the advice. */
const REFUSED: [filter: string, code: string, advice: string][] = [
  // Syntax, with what other languages write
  ['name ¦=¦ "x"', 'syntax', 'did you mean `==`?'],
  ['name ==¦=¦ "x"', 'syntax', 'did you mean `==`?'],
  ['name <¦>¦ "x"', 'syntax', 'did you mean `!=`?'],
  ['name == "x" ¦&¦ name == "y"', 'syntax', 'did you mean `&&`?'],
  ['name == "x" ¦|¦ name == "y"', 'syntax', 'did you mean `||`?'],
  ['name == "x" ¦and¦ name == "y"', 'syntax', 'did you mean `&&`?'],
  ['name == "x" ¦OR¦ name == "y"', 'syntax', 'did you mean `||`?'],
  ['not ¦name¦ == "x"', 'syntax', 'did you mean `!`?'],
  ['name ¦LIKE¦ "x%"', 'syntax', 'did you mean `.contains("…")`?'],
  ['name ¦is¦ null', 'syntax', 'did you mean `==`?'],
  ['name == ¦“¦x”', 'syntax', 'straight quotes'],
  ['name == ¦‘¦x’', 'syntax', 'straight quotes'],
  ['¦`¦name` == "x"', 'syntax', 'straight quotes'],
  ['name == ¦"x¦', 'syntax', 'not closed'],
  [`name == ¦'x"¦`, 'syntax', 'not closed'],
  ['name == ¦"""x""¦', 'syntax', 'not closed'],
  ['name == "x¦\n¦y"', 'syntax', String.raw`write \n`],
  [String.raw`name == "¦\q¦"`, 'syntax', 'escape'],
  [String.raw`name == "¦\uD800¦"`, 'syntax', 'surrogate'],
  ['name == "x" &&¦¦', 'syntax', 'ends too soon'],
  ['(name == "x"¦¦', 'syntax', 'ends too soon'],
  ['name == "x"¦)¦', 'syntax', 'cannot be read'],
  ['¦)¦', 'syntax', 'cannot be read'],
  ['name == "x"¦;¦ DROP TABLE items', 'syntax', 'cannot be read'],
  ['¦é¦ == "x"', 'syntax', 'cannot be read'],
  ['¦😀¦', 'syntax', 'cannot be read from "😀" on'],
  ['¦\u00A0¦', 'syntax', 'cannot be read'],
  [String.raw`name == r¦"\"¦`, 'syntax', 'no backslash may stand before a quote'],
  ['¦for¦ == "x"', 'syntax', 'Reserved'],
  // Names
  ['¦nam¦ == "x"', 'unknown_field', 'did you mean name?'],
  ['¦Name¦ == "x"', 'unknown_field', 'did you mean name?'],
  ['¦created_at¦ == "x"', 'unknown_field', 'did you mean createdAt?'],
  ['¦price¦ == "x"', 'unknown_field', 'there are id, name, description, createdAt'],
  ['¦constructor¦ == "x"', 'unknown_field', ''],
  ['¦__proto__¦ == "x"', 'syntax', 'Reserved'],
  ['name == "😀" && ¦nam¦ == "x"', 'unknown_field', 'did you mean name?'],
  ['name == ¦bicycle¦', 'unknown_field', 'did you mean the text "bicycle"?'],
  ['description == ¦NULL¦', 'unknown_field', 'did you mean null?'],
  ['name in [¦bicycle¦]', 'unknown_field', 'did you mean the text "bicycle"?'],
  ['¦nam¦.contains("x")', 'unknown_field', 'did you mean name?'],
  ['¦nam¦', 'unknown_field', 'did you mean name?'],
  // Types
  ['name == ¦5¦', 'type', 'write "5"'],
  ['name == ¦-5¦', 'type', 'write "…"'],
  ['name == ¦1.5¦', 'type', 'write "1.5"'],
  ['name == ¦true¦', 'type', 'write "true"'],
  ['name == ¦b"x"¦', 'type', 'is text'],
  ['name == ¦null¦', 'type', 'which it never is'],
  ['¦null¦ != name', 'type', 'which it never is'],
  ['name in ["x", ¦null¦]', 'type', 'which it never is'],
  ['description.lowerAscii() == ¦null¦', 'type', 'which it never is'],
  ['¦description < null¦', 'type', 'order'],
  ['createdAt > ¦"2026-01-01T00:00:00Z"¦', 'type', 'write `timestamp("2026-01-01T00:00:00Z")`'],
  ['createdAt > ¦"yesterday"¦', 'type', 'write `timestamp("…")`'],
  ['createdAt > ¦1767225600¦', 'type', 'write `timestamp("…")`'],
  ['name == ¦timestamp("2026-01-01T00:00:00Z")¦', 'type', 'is text'],
  ['id == ¦5¦', 'type', 'UUID'],
  ['¦name¦', 'type', 'compare it, as in `name == "…"`'],
  ['!¦description¦', 'type', 'compare it, as in `description != null`'],
  ['name == "x" && ¦"y"¦', 'type', 'compare a field with it'],
  ['¦timestamp("2026-01-01T00:00:00Z")¦', 'type', 'compare a field with it'],
  ['¦name.lowerAscii()¦', 'type', 'compare it'],
  ['¦id.contains("x")¦', 'type', 'no text'],
  ['¦createdAt.startsWith("2026")¦', 'type', 'no text'],
  ['¦id.lowerAscii()¦ == "x"', 'type', 'field of text'],
  ['name in ¦"x"¦', 'type', 'write `name in ["…"]`'],
  ['¦name.contains()¦', 'type', 'write `.contains("…")`'],
  ['¦name.contains("x", "y")¦', 'type', 'write `.contains("…")`'],
  ['name.contains(¦5¦)', 'type', 'write "5"'],
  ['name.contains(¦null¦)', 'type', 'write "…"'],
  ['createdAt < ¦timestamp(5)¦', 'type', 'one text'],
  ['createdAt < ¦timestamp()¦', 'type', 'one text'],
  // Values
  ['id == ¦"5"¦', 'value', 'no UUID'],
  ['id in [¦"{0190163d-8694-739b-aea5-966c26f8ad91}"¦]', 'value', 'no UUID'],
  ['createdAt < timestamp(¦"2026-01-01"¦)', 'value', 'RFC 3339'],
  ['createdAt < timestamp(¦"2026-01-01T00:00:00"¦)', 'value', 'with a zone'],
  ['createdAt < timestamp(¦"2026-02-29T00:00:00Z"¦)', 'value', 'RFC 3339'],
  ['createdAt < timestamp(¦"2026-01-01T24:00:00Z"¦)', 'value', 'RFC 3339'],
  ['createdAt < timestamp(¦"2026-01-01 00:00:00Z"¦)', 'value', 'RFC 3339'],
  ['createdAt < timestamp(¦"2026-01-01T00:00:00.0000000001Z"¦)', 'value', 'RFC 3339'],
  ['createdAt < timestamp(¦"0000-01-01T00:00:00Z"¦)', 'value', 'RFC 3339'],
  ['createdAt < timestamp(¦"2026-01-01T00:00:60Z"¦)', 'value', 'RFC 3339'],
  [String.raw`name == ¦"\u0000"¦`, 'value', 'U+0000'],
  // What CEL has and a filter has not
  ['¦name.matches("^x")¦', 'unsupported', 'contains'],
  ['¦name.startWith("x")¦', 'unsupported', 'did you mean startsWith?'],
  ['¦name.icontain("x")¦', 'unsupported', 'did you mean icontains?'],
  ['¦name.size()¦ == 1', 'unsupported', 'size'],
  ['¦size(name)¦ == 1', 'unsupported', 'size'],
  ['¦has(name)¦', 'unsupported', '!= null'],
  ['¦contains(name, "x")¦', 'unsupported', 'name.contains("…")'],
  ['¦"xyz".contains(name)¦', 'unsupported', 'begin with the field'],
  ['¦name.exists(c, c == "x")¦', 'unsupported', 'exists'],
  ['name.exists(¦1¦, true)', 'unsupported', 'not supported'],
  ['¦pg_sleep(10)¦', 'unsupported', 'pg_sleep'],
  ['name == ¦"x" --5¦', 'unsupported', 'arithmetic'],
  ['¦name + "y"¦ == "xy"', 'unsupported', 'arithmetic'],
  ['¦name == "x" ? true : false¦', 'unsupported', '`&&` and `||`'],
  ['¦name[0]¦ == "x"', 'unsupported', 'index'],
  ['¦item.name¦ == "x"', 'unsupported', 'name the field alone'],
  ['¦name.contains¦', 'unsupported', 'parentheses'],
  ['¦{"a": 1}¦', 'unsupported', 'map'],
  ['¦[]¦', 'unsupported', 'list'],
  ['name == ¦["x"]¦', 'unsupported', 'after `in`'],
  ['name == ¦description¦', 'unsupported', 'another field'],
  ['name.contains(¦description¦)', 'unsupported', 'another field'],
  ['name == ¦description.lowerAscii()¦', 'unsupported', 'another field'],
  ['¦lowerAscii(name)¦ == "x"', 'unsupported', 'write `name.lowerAscii()`'],
  ['¦-name¦ == "x"', 'unsupported', 'arithmetic'],
  ['"a" == ¦"a"¦', 'unsupported', 'compare a field'],
  [`${TIME} == ¦${TIME}¦`, 'unsupported', 'compare a field'],
  ['¦"x" in ["x"]¦', 'unsupported', 'write the field before `in`'],
  ['¦"x" in name¦', 'unsupported', '.contains("…")'],
  ['¦name < "b"¦ < "c"', 'unsupported', 'join conditions'],
  ['(¦name == "x"¦) == true', 'unsupported', 'join conditions'],
  [String.raw`name == ¦r"\"x"¦`, 'unsupported', 'double the backslash'],
  // Bounds
  [`${'name == "x"'.padEnd(2000)}¦ ¦`, 'limit', '2000 characters'],
  [`name == "${'😀'.repeat(1000)}${'x'.repeat(991)}¦"¦`, 'limit', '2000 characters'],
  [`${'('.repeat(17)}¦true${')'.repeat(17)}¦`, 'limit', '16 levels'],
  [`${'!'.repeat(17)}¦true¦`, 'limit', '16 levels'],
  [`${'name == "x" || '.repeat(32)}¦name == "x"¦`, 'limit', '32 conditions'],
  [`createdAt in [${`${TIME}, `.repeat(32)}¦${TIME}¦]`, 'limit', '32 conditions'],
  [`name in [${'"x",'.repeat(100)}¦"x"]¦`, 'limit', '100 values'],
  [`¦${NODES_311} || name in [${'"x",'.repeat(85)}"x"]¦`, 'limit', '400 names'],
  [`${'name.contains("x") || '.repeat(4)}¦name.endsWith("x")¦`, 'limit', '4 times'],
];

describe('a filter is refused, with the place and how to fix it:', () => {
  it.each(REFUSED)('%s', async (marked, code, advice) => {
    const [before = '', part, after = ''] = marked.split('¦');
    const filter = part === undefined ? marked : before + part + after;
    const start = part === undefined ? 0 : Array.from(before).length;
    const end = start + Array.from(part ?? marked).length;
    const { status, body } = await service.api.list<ProblemBody>({ filter });
    expect(status).toBe(400);
    expect(body.type).toBe('/docs/problems#invalid-parameters');
    expect(body.errors).toEqual([{ parameter: 'filter', code, detail: expect.stringContaining(advice), start, end }]);
    expect(body.detail).toMatch(/^filter .*[.?]$/s);
  });

  it('is refused once when it is given twice', async () => {
    const twice = await service.api.call('GET', '/v1/items?filter=true&filter=true');
    expect(twice.body.errors).toEqual([{ parameter: 'filter', code: 'repeated', detail: expect.any(String) }]);
  });

  it('is read behind a thousand empty parameters too', async () => {
    const { body } = await service.api.call<PageBody>('GET', `/v1/items?${'&'.repeat(1000)}filter=false`);
    expect(body).toEqual({ items: [] });
  });

  it('names its faults together with those of other parameters', async () => {
    const { body } = await service.api.list<ProblemBody>({ limit: '0', filter: 'nam == "x"' });
    expect(body.errors?.map(({ parameter, code }) => `${parameter} ${code}`).toSorted()).toEqual([
      'filter unknown_field',
      'limit range',
    ]);
  });
});

describe('paging through a filter', () => {
  it('goes on where the page ended, for that filter alone', async () => {
    const filter = 'name.contains("bicycle") || description == null';
    const first = await service.api.list({ filter, limit: '3' });
    expect(first.body.items.map(({ id }) => letterOf(id))).toEqual(['h', 'c', 'b']);
    const cursor = first.body.nextCursor ?? '';
    const second = await service.api.list({ filter, limit: '1', cursor });
    expect(second.body).toEqual({ items: [expect.objectContaining({ id: idOf('a') })] });
    for (const other of [{}, { filter: '' }, { filter: `${filter} ` }, { filter: 'true' }]) {
      const { status, body } = await service.api.list<ProblemBody>({ ...other, cursor });
      expect(status).toBe(400);
      expect(body.errors).toEqual([expect.objectContaining({ parameter: 'cursor', code: 'cursor' })]);
    }
  });

  it('has no next page after exactly as many as asked for', async () => {
    const { body } = await service.api.list({ filter: 'name.contains("bicycle")', limit: '3' });
    expect(body.items).toHaveLength(3);
    expect(body.nextCursor).toBeUndefined();
  });
});
