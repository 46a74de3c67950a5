import { LRUCache } from 'lru-cache';
import { FailureBudget } from '#service/platform/auth/failure-budget';
import type { Principal } from '#service/platform/auth/principal';
import { digestOf } from '#service/platform/auth/token-format';
import { printTable } from '../print.ts';
import { newKey } from './keys.ts';
import { usedBytes } from './memory.ts';

/** Entries of the cache of tokens, and addresses that have a budget for failures, as the service bounds them. */
const BOUND = 10_000;
const ADDRESSES = 1_000_000;

/** Bytes of all budgets together that the last 900,000 addresses may add. */
const GROWTH = 100_000;

/** Memory of the cache of tokens, and of the budgets for failures. @returns the promises, each with whether it was kept */
export async function measureCaches(): Promise<Record<string, boolean>> {
  const cache = measureTokenCache();
  const budget = new FailureBudget({ burst: 100, rate: 10, onExhausted: () => undefined });
  const before = usedBytes();
  await failFrom(budget, 0, ADDRESSES / 10);
  const early = usedBytes();
  await failFrom(budget, ADDRESSES / 10, ADDRESSES);
  const growth = usedBytes() - early;
  printTable(
    ['memory', 'bytes'],
    [
      [`a remembered token, of ${BOUND}`, cache.toFixed(0)],
      [`an address with a budget, of ${BOUND} after ${ADDRESSES / 10}`, ((early - before) / BOUND).toFixed(0)],
      [`growth of all budgets from ${ADDRESSES / 10} to ${ADDRESSES} addresses`, growth.toFixed(0)],
    ],
  );
  return { 'budgets for failures stay as they are': growth <= GROWTH };
}

/** What `TokenAuthenticator` remembers of a token that was read from the database. */
function measureTokenCache(): number {
  const before = usedBytes();
  const cache = new LRUCache<string, Principal>({ max: BOUND, noDeleteOnStaleGet: true });
  for (let count = 0; count < BOUND; count += 1) {
    const id = newKey();
    cache.set(digestOf(id).toString('base64'), { id, familyId: id, scopes: 'all' }, { ttl: 30_000 });
  }
  const bytes = (usedBytes() - before) / cache.size;
  cache.clear();
  return bytes;
}

async function failFrom(budget: FailureBudget, first: number, end: number): Promise<void> {
  for (let number = first; number < end; number += 1) {
    const address = `10.${number >>> 16}.${(number >>> 8) & 255}.${number & 255}`;
    await budget.attempt(
      [address],
      () => Promise.resolve('refused'),
      () => true,
    );
  }
}
