import { describeStatement } from './tracing.js';

it.each([
  ['SELECT "name" FROM "items" WHERE "id" = $1 AND t1.x2 > $12', 'SELECT "name" FROM "items" WHERE "id" = $1 AND t1.x2 > $12'],
  ["INSERT INTO items VALUES ('it''s', '', 12, -3.5e10, .5, 0x1F)", 'INSERT INTO items VALUES (?, ?, ?, -?, .?, ?)'],
  ["SELECT E'a\\'b', e'\\\\', U&'d', 'a\\', $$a$b$$, $tag$a$$b$tag$, $1", 'SELECT ?, ?, U&?, ?, ?, ?, $1'],
  [`SELECT "it's", "a""1", 'x"y' -- secret\nFROM b /* 1 \n 2 */ c`, `SELECT "it's", "a""1", ? ?\nFROM b ? c`],
  ["SELECT E'unclosed\\'", 'SELECT ?'],
  ['SELECT $$unclosed', 'SELECT ?'],
])('describes a statement without its values: %s', (statement, text) => {
  expect(describeStatement(statement)['db.query.text']).toBe(text);
});

it.each([
  ['SELECT "a" FROM "items" "Item" JOIN "others" ON true', 'SELECT items'],
  [' select 1', 'SELECT'],
  ['UPDATE ONLY "items" SET a = $1', 'UPDATE items'],
  ['EXPLAIN (FORMAT JSON) SELECT r.id FROM (SELECT * FROM "items" r) r', 'EXPLAIN items'],
])('summarises a statement by operation and table: %s', (statement, summary) => {
  expect(describeStatement(statement)['db.query.summary']).toBe(summary);
});
