import { createdAt } from '../database.ts';

export const ITEMS = 1_000_000;

/** One request that is measured. */
export interface Case {
  readonly name: string;
  readonly filter?: string;
  /** Rows of the whole list before the page. */
  readonly depth?: number;
  /** How many times the first page it may cost. */
  readonly most?: number;
  /** The same filter in SQL, where the planner may choose a walk along the primary key that passes almost every row. */
  readonly sql?: string;
}

const DEEP = 1.2;
const INDEXED = 2;

const newest = `createdAt >= timestamp("${createdAt(ITEMS - 5000)}")`;
const old = `createdAt >= timestamp("${createdAt(50_000)}") && createdAt < timestamp("${createdAt(60_000)}")`;
const names = (count: number) => Array.from({ length: count }, (_, i) => `"red bicycle ${ITEMS - i * 1000}"`).join(', ');
const like = (word: string) => `name LIKE '%${word}%'`;

export const CASES: readonly Case[] = [
  { name: 'first page' },
  { name: 'page at depth 1,000', depth: 1000, most: DEEP },
  { name: 'page at depth 100,000', depth: 100_000, most: DEEP },
  { name: 'page at depth 900,000', depth: 900_000, most: DEEP },
  indexed('equal name', 'name == "red bicycle 123400"'),
  indexed('one of 5 names', `name in [${names(5)}]`),
  { name: 'one of 50 names', filter: `name in [${names(50)}]` },
  indexed('prefix, 11 matches', 'name.startsWith("red bicycle 123")'),
  indexed('prefix, 10 % of all', 'name.startsWith("red")'),
  indexed('contains, 10 % of all', 'name.contains("bicycle")'),
  { ...indexed('contains, 10 % of all, deep', 'name.contains("bicycle")'), depth: 900_000 },
  { ...indexed('contains, the 20 oldest', 'name.contains("ancient")'), sql: like('ancient') },
  { ...indexed('contains, none', 'name.contains("zeppelin")'), sql: like('zeppelin') },
  { ...indexed('icontains, the 20 oldest', 'name.icontains("ANCIENT")'), sql: `name ILIKE '%ANCIENT%'` },
  indexed('newest 5,000 by time', newest),
  indexed('10,000 old by time', old),
  indexed('10,000 old by time, name contains, 10 %', `${old} && name.contains("bicycle")`),
  { name: '10,000 old by time, description contains, none', filter: `${old} && description.contains("zeppelin")` },
  { name: 'contains, 10 % of all but the newest 30,000', filter: 'name.contains("reserved")', sql: like('reserved') },
  { name: 'contains, the oldest 2 %', filter: 'name.contains("retired")', sql: like('retired') },
  {
    name: 'two words that never meet',
    filter: 'name.contains("bicycle") && name.contains("lamp")',
    sql: `${like('bicycle')} AND ${like('lamp')}`,
  },
  {
    name: 'prefix and word that never meet',
    filter: 'name.startsWith("red") && name.contains("blue")',
    sql: `name COLLATE "C" ^@ 'red' AND ${like('blue')}`,
  },
  { name: 'contains, none, trigrams in 10 %', filter: 'name.contains("lamp lamp")', sql: like('lamp lamp') },
  { name: 'contains, none, two letters (no trigram)', filter: 'name.contains("zq")' },
  { name: 'no description', filter: 'description == null' },
  { name: 'description contains, 11 % of all', filter: 'description.contains("brass")' },
  { name: 'description contains, none', filter: 'description.contains("zeppelin")' },
  { name: 'the worst that the bounds allow', filter: worst() },
];

function indexed(name: string, filter: string): Case {
  return { name, filter, most: INDEXED };
}

/**
 * 32 conditions in 2,000 characters, none of them ever true, so that every row is compared with each. `icontains` costs most:
 * PostgreSQL converts the row's text and the whole pattern to lower case for every row.
 */
function worst(): string {
  const others = Array.from({ length: 28 }, (_, i) => `description.lowerAscii() == "${i}"`).join('||');
  const [start, end] = ['description.icontains("', '")||'];
  const pattern = 'K'.repeat((2000 - others.length) / 4 - start.length - end.length);
  return `${start}${pattern}${end}`.repeat(4) + others;
}
