import { query } from '../support/query.js';
import { startService } from '../support/service.js';
import { createTestDatabase, databaseUrlOf, type TestDatabase } from '../support/test-database.js';
import { useService } from '../support/use-service.js';

let database: TestDatabase;

/** In the database, words are in the order of a dictionary. */
const service = useService(async () => {
  database = await createTestDatabase();
  const url = new URL(databaseUrlOf(database));
  const name = `${url.pathname.slice(1)}_icu`;
  await query(url.href, `CREATE DATABASE ${name} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'`);
  url.pathname = `/${name}`;
  return startService({ DATABASE_URL: url.href }, database);
});

afterAll(() => database.drop());

it('orders text by code point, and lower-cases ASCII alone, whatever the collation is [filter-code-point] [filter-lower-ascii]', async () => {
  for (const name of ['é', 'É', 'a', 'Z']) await service.api.create({ name });
  const found = async (filter: string) => (await service.api.walk({ filter })).map(({ name }) => name);
  expect(await found('name < "a"')).toEqual(['Z']);
  expect(await found('name >= "a" && name < "b"')).toEqual(['a']);
  expect(await found('name > "z"')).toEqual(['É', 'é']);
  expect(await found('name.lowerAscii() == "É"')).toEqual(['É']);
  expect(await found('name.lowerAscii() == "z"')).toEqual(['Z']);
});
