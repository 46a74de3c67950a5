import { rm } from 'node:fs/promises';

export default async function globalTeardown() {
  await rm(process.env.ITEMS_TEST_DIRECTORY, { recursive: true, force: true });
}
