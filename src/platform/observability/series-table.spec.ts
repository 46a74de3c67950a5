import { SeriesTable } from './series-table.js';

const table = <Labels extends Record<string, readonly string[] | 'open'>>(labels: Labels) =>
  new SeriesTable('items_test_total', labels, () => ({ value: 0 }));

it('has all series of declared labels from the start', () => {
  const series = table({ a: ['x', 'y'], b: ['z'] });
  series.of({ a: 'y', b: 'z' }).value += 1;
  expect(series.all()).toEqual([
    { labels: { a: 'x', b: 'z' }, state: { value: 0 } },
    { labels: { a: 'y', b: 'z' }, state: { value: 1 } },
  ]);
});

it('has one series without labels', () => {
  const series = table({});
  series.of({}).value += 1;
  series.of({}).value += 1;
  expect(series.all()).toEqual([{ labels: {}, state: { value: 2 } }]);
});

it('makes one of all values that nobody declared', () => {
  const series = table({ a: ['x'], b: 'open' });
  for (const a of ['u', 'v', '__proto__', 'constructor', '']) series.of({ a, b: '1' }).value += 1;
  expect(series.all()).toEqual([{ labels: { a: 'other', b: '1' }, state: { value: 5 } }]);
});

it('keeps values apart, whatever is in them', () => {
  const series = table({ a: 'open', b: 'open' });
  const values = ['', ' ', 'a b', '__proto__', 'toString', '\n', '"', 'ä'];
  for (const a of values) for (const b of values) series.of({ a, b }).value += 1;
  expect(series.all().map(({ state }) => state.value)).toEqual(values.flatMap(() => values.map(() => 1)));
});

it('stops at 1,000 series, and counts what comes then as one', () => {
  const series = table({ a: 'open', b: 'open' });
  for (let index = 0; index < 5000; index += 1) series.of({ a: String(index), b: 'x' }).value += 1;
  series.of({ a: '0', b: 'x' }).value += 1;
  const all = series.all();
  expect(all).toHaveLength(1000);
  expect(all[0]).toEqual({ labels: { a: '0', b: 'x' }, state: { value: 2 } });
  expect(all.at(-1)).toEqual({ labels: { a: 'other', b: 'other' }, state: { value: 4001 } });
});
