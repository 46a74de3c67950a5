import { reservedWords } from '../schematics/feature/sql-words.js';
import { Database } from '../src/platform/index.js';
import { startService } from './support/service.js';

it('are known to the schematic as far as the database reserves them', async () => {
  const service = await startService();
  const query = "SELECT word FROM pg_get_keywords() WHERE catcode IN ('R', 'T')";
  const words = await service.app.get(Database).manager.query<{ word: string }[]>(query);
  await service.stop();
  expect(words.length).toBeGreaterThan(90);
  expect(words.map(({ word }) => word).filter((word) => !reservedWords.includes(word))).toEqual([]);
});
