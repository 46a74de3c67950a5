import { describeStatement } from './tracing.js';

it.each([
  ['UPDATE ONLY "a1" SET b = $1 WHERE t1.x2 > $12', 'UPDATE a1', 'UPDATE ONLY "a1" SET b = $1 WHERE t1.x2 > $12'],
  [" select 12, -3.5e10, .5, 0x1F, $1, 'it''s', \"a\" FROM b", 'SELECT', ' select ?, -?, .?, ?, $1, ?'],
  ["EXPLAIN SELECT FROM (SELECT FROM a) r, E'\\'", 'EXPLAIN a', 'EXPLAIN SELECT FROM (SELECT FROM a) r, E?'],
  ['SELECT $1 FROM a WHERE b IN ($tag$c$$d$tag$, $$e$$)', 'SELECT a', 'SELECT $1 FROM a WHERE b IN (?'],
  ['SELECT 1 -- secret\nFROM b', 'SELECT', 'SELECT ? ?'],
  ['INSERT INTO a /* secret */ VALUES (1)', 'INSERT a', 'INSERT INTO a ?'],
])('describes a statement by operation and table, without its values: %s', (statement, summary, text) => {
  expect(describeStatement(statement)).toMatchObject({ 'db.query.summary': summary, 'db.query.text': text });
});
