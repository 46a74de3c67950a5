import { operationOf, summaryOf, withoutValues } from './statement-text.js';

describe('the text of a statement in a trace', () => {
  it.each([
    ['SELECT "name" FROM "items" WHERE "id" = $1 AND t1.x2 > $12', 'SELECT "name" FROM "items" WHERE "id" = $1 AND t1.x2 > $12'],
    ["INSERT INTO items VALUES ('it''s', '', 12, -3.5e10, .5, 0x1F)", 'INSERT INTO items VALUES (?, ?, ?, -?, .?, ?)'],
    ["SELECT E'a\\'b', e'\\\\', U&'d', B'01'", 'SELECT ?, ?, U&?, B?'],
    ["SELECT 'a\\', 'b'", 'SELECT ?, ?'],
    ['SELECT $$a$b$$, $tag$a$$b$tag$, $1', 'SELECT ?, ?, $1'],
    [`SELECT "it's", "a""1", 'x"y'`, `SELECT "it's", "a""1", ?`],
    ['SELECT a -- secret\nFROM b /* 1 \n 2 */ c', 'SELECT a ?\nFROM b ? c'],
    ["SELECT 'not closed, 12", 'SELECT ?'],
    ["SELECT E'not closed\\'", 'SELECT ?'],
    ['SELECT $$not closed', 'SELECT ?'],
    ['SELECT /* not closed', 'SELECT ?'],
    ["INTERVAL '2 s' LIMIT 51", 'INTERVAL ? LIMIT ?'],
  ])('has no values in it: %s', (statement, expected) => {
    expect(withoutValues(statement)).toBe(expected);
  });

  it.each(['"', "'", "E'\\", '$$', '$a$', '/*', '--', "''", '$a', '1.'])(
    'is found in one pass, however often it has %s',
    (piece) => {
      expect(withoutValues(piece.repeat(200_000))).toBeDefined();
    },
  );

  it.each([
    ['SELECT "a" FROM "items" "Item" JOIN "others" ON true', 'SELECT items'],
    [' select 1', 'SELECT'],
    ['INSERT INTO items AS kept (a) VALUES ($1) ON CONFLICT (a) DO UPDATE SET a = $1', 'INSERT items'],
    ['UPDATE ONLY "items" SET a = $1', 'UPDATE items'],
    ['DELETE FROM idempotency_keys WHERE a IN (SELECT a FROM items)', 'DELETE idempotency_keys'],
    ['EXPLAIN (FORMAT JSON) SELECT r.id FROM (SELECT * FROM "items" r) r', 'EXPLAIN items'],
    ['START TRANSACTION READ ONLY; SET LOCAL jit = off', 'START'],
    ['ALTER TABLE "items" ADD a text', 'ALTER items'],
    ['', ''],
  ])('has a summary: %s', (statement, summary) => {
    expect(summaryOf(statement)).toBe(summary);
    expect(operationOf(statement)).toBe(summary.split(' ')[0]);
  });
});
