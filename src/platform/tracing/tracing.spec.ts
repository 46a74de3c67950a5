import { describeStatement } from './tracing.js';

it.each([
  ['SELECT "name" FROM "items" WHERE "id" = $1 AND t1.x2 > $12', 'SELECT "name" FROM "items" WHERE "id" = $1 AND t1.x2 > $12'],
  ["SELECT 12, -3.5e10, .5, 0x1F, $1, 'it''s', $2", 'SELECT ?, -?, .?, ?, $1, ?'],
  ["SELECT E'unclosed\\'", 'SELECT E?'],
  ['SELECT $1, $$a$b$$', 'SELECT $1, ?'],
  ['SELECT $tag1$a$$b$tag1$', 'SELECT ?'],
  ['SELECT 1 -- secret\nFROM b', 'SELECT ? ?'],
  ['SELECT a /* secret */ FROM b', 'SELECT a ?'],
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
