import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { hostileFilters } from '../../support/hostile-filter.ts';
import { SLOW_FILTER } from '../../support/slow-filter.ts';
import { type Behavior, oneOf } from './traffic.ts';

const KNOWN = ['name.startsWith("Blue")', 'name == "Bicycle"', 'createdAt > timestamp("2026-02-01T00:00:00Z")'] as const;
const VALID = '(name.startsWith("Blue") || name.startsWith("Red")) && !name.contains("bell")';
const HOSTILE = fc.sample(hostileFilters(fc.constant(VALID), ['id', 'name', 'description', 'createdAt']), 2000);

const listOf = (filter: string, limit = 20) => `/v1/items?limit=${limit}&filter=${encodeURIComponent(filter)}`;

/** Documented of filters that take long: too slow, out of budget, waited too long. */
const IF_SLOW = [400, 429, 503];

export const filters: readonly Behavior[] = [
  {
    kind: 'known filter',
    clients: 2,
    pause: 100,
    act: (client, { tokens }) => client.send({ path: listOf(oneOf(...KNOWN)), token: tokens.next() }, [200]),
  },
  {
    kind: 'new filter',
    clients: 2,
    pause: 200,
    act: (client, { tokens }) => {
      const word = randomUUID().slice(0, 6);
      return client.send({ path: listOf(`name.contains("${word}") || name == "${word}"`), token: tokens.next() }, [200]);
    },
  },
  {
    kind: 'slow filter',
    clients: 2,
    pause: 1500,
    act: (client, { tokens }) => client.send({ path: listOf(SLOW_FILTER), token: tokens.slow }, [200, ...IF_SLOW]),
  },
  {
    kind: 'slow filter, client leaves',
    clients: 1,
    pause: 1000,
    act: (client, { tokens }) =>
      client.send({ path: listOf(SLOW_FILTER), token: tokens.slow, patience: 100 }, [0, 200, ...IF_SLOW]),
  },
  {
    kind: 'hostile filter',
    clients: 2,
    pause: 100,
    act: (client, { tokens }) => {
      const filter = HOSTILE[Math.floor(Math.random() * HOSTILE.length)] ?? '';
      // Long ones exceed the limit of the headers when they are encoded.
      return client.send({ path: listOf(filter), token: tokens.next() }, [200, 431, ...IF_SLOW]);
    },
  },
];
