import { isDeepStrictEqual } from 'node:util';
import type { Type } from '@nestjs/common';
import * as fc from 'fast-check';
import { DataSource } from 'typeorm';
import { AccessTokensService } from '../../../src/platform/auth/access-tokens.service.js';
import { digestOf } from '../../../src/platform/auth/token-format.js';
import type { PageBody } from '../../support/api.js';
import { Contract, type Document } from '../../support/contract.js';
import { measured } from '../../support/measurements.js';
import { type Service, startService, TESTER } from '../../support/service.js';
import { Fuzz, settings } from './fuzz.js';
import { hostileAttempts, type Tokens, withoutCredentials, withoutScope } from './hostile.js';
import { acceptedDrafts, describedOperations, Drafts, requestOf } from './requests.js';
import { type Rule, rulesOf } from './rules.js';
import { asObject, type JsonObject } from './schema.js';

export interface Target {
  document: Document;
  /** The module with the platform and the features. */
  root: Type;
  /** Path of the collection; its table has the name of the last part. */
  collection: string;
  /** How many requests are made, at least. */
  requests: number;
}

/** Rows that there are before, for lists to have several pages. */
const ROWS = 12;

/**
 * Tests with requests that are generated from a document, and from nothing else, that the service does what the document says: takes
 * what it admits, refuses what breaks any of its rules and names the place, lets nobody in without a token and scope, and
 * answers only what is documented, whatever is sent.
 */
export function describeFuzz({ document, root, collection, requests }: Target): void {
  const operations = describedOperations(document, collection);
  const draftsWith = (cursors: string[]) => operations.map((operation) => new Drafts(operation, cursors));
  // Stands for cursors until there are any.
  const before = draftsWith(['none']);
  const known = before.flatMap(rulesOf);
  const names = known.map(([name]) => name);
  const edges = known.filter(([, { kept }]) => kept).map(([name]) => name);
  const schema = operations.find(({ body }) => body)?.body ?? {};

  describe(`${collection} is what its document says`, () => {
    let service: Service;
    let fuzz: Fuzz;
    let tokens: Tokens;
    let all: Drafts[];
    let rules: ReadonlyMap<string, Rule>;

    beforeAll(async () => {
      service = await startService({ AUTH_FAILURE_BURST: '1000000' }, undefined, root);
      tokens = await issueTokens(service);
      fuzz = new Fuzz(new Contract(document), service.port, tokens.good);
      const creations = acceptedDrafts(fc.oneof(...creationsAmong(before)));
      for (const creation of fc.sample(creations, { numRuns: ROWS, seed: settings.seed })) await fuzz.judge(creation);
      all = draftsWith(await cursorsOf(service, collection));
      rules = new Map(all.flatMap(rulesOf));
    });

    afterAll(async () => {
      fuzz.stop();
      await service.stop();
    });

    const rule = (name: string): Required<Rule> => {
      const found = rules.get(name);
      if (!found) throw new Error(`The document has no ${name}.`);
      return { kept: found.broken, ...found };
    };

    it.each(names)('refuses what breaks %s', (name) => fuzz.attempt(rule(name).broken, (requests * 0.4) / names.length));

    it.each(edges)('takes what keeps %s', (name) => fuzz.attempt(rule(name).kept, (requests * 0.05) / edges.length));

    it('takes all that the document admits', () =>
      fuzz.attempt(fc.oneof(...all.map((drafts) => acceptedDrafts(drafts.all))), requests * 0.2));

    it('answers a request with a key once, and another one with that key not at all', async () => {
      const pairs = fc.oneof(...creationsAmong(all).map((drafts) => fc.tuple(drafts, drafts, fc.noBias(fc.uuid()))));
      await fuzz.each(pairs, requests * 0.01, async ([first, second, key]) => {
        const send = ({ operation, parameters, json }: typeof first) => {
          const others = parameters.filter(({ name }) => name !== 'Idempotency-Key');
          const keyed = [...others, { in: 'header', name: 'Idempotency-Key', value: key }];
          return fuzz.judge({ request: requestOf({ operation, parameters: keyed, json }), operation, statuses: [201, 409] });
        };
        const { status, body } = await send(first);
        if (status === 201) {
          const repeated = await send(first);
          expect([repeated.body, repeated.headers.get('Idempotent-Replayed')]).toEqual([body, 'true']);
          expect((await send(second)).status).toBe(isDeepStrictEqual(first.json, second.json) ? 201 : 422);
        }
      });
    });

    it('withstands what nobody documented', () => fuzz.attempt(hostileAttempts(all), requests * 0.15));

    it('lets nobody in without a token or without the scope, whatever else is wrong', async () => {
      const attempts = fc.oneof(
        ...all.map((drafts) => acceptedDrafts(drafts.all)),
        ...[...rules.values()].map(({ broken }) => broken),
        hostileAttempts(all),
      );
      const { length } = await rowsOf(service, collection);
      await fuzz.attempt(withoutCredentials(attempts, tokens), requests * 0.15);
      await fuzz.attempt(withoutScope(attempts, tokens), requests * 0.05);
      expect((await rowsOf(service, collection)).length).toBe(length);
    });

    it('has stored what it answered 201, byte for byte, and nothing else', async () => {
      const rows = await rowsOf(service, collection);
      const stored = (id: string) => asStored(fuzz.created.get(id) ?? {}, asObject(schema['properties']));
      const differing = rows.filter(({ id, ...row }) => !isDeepStrictEqual(asStored(row), stored(id)));
      expect([rows.length, differing]).toEqual([fuzz.created.size, []]);
      expect((await service.api.call('GET', collection)).status).toBe(200);
    });

    it('has been sent as many requests as it should, of which few met a conflict', () => {
      const counts = Object.fromEntries([...fuzz.counts].toSorted(([a], [b]) => a - b));
      const sum = Object.values(counts).reduce((total, count) => total + count, 0);
      measured(`requests to ${collection}`, sum, JSON.stringify(counts));
      expect(sum).toBeGreaterThanOrEqual(requests);
      expect(counts[409] ?? 0).toBeLessThan(counts[201] ?? 0);
      for (const status of [200, 201, 400, 401, 403, 404, 405, 413]) expect(counts[status]).toBeGreaterThan(0);
    });
  });
}

async function issueTokens(service: Service): Promise<Tokens> {
  const revoked = await service.newClient('revoked');
  await service.app.get(AccessTokensService).revoke({ digest: digestOf(revoked.token) }, TESTER);
  const expired = await service.newClient('expired', { expiresAt: new Date(Date.now() - 1) });
  const elsewhere = await service.newClient('elsewhere', { scopes: ['something:else'] });
  return { good: service.api.token, revoked: revoked.token, expired: expired.token, elsewhere: elsewhere.token };
}

function creationsAmong(all: readonly Drafts[]) {
  return all.filter(({ operation }) => operation.successes.includes(201)).map((drafts) => drafts.all);
}

async function cursorsOf({ api }: Service, collection: string): Promise<string[]> {
  const pages = await Promise.all([1, 2, 3, 5, 8].map((limit) => api.call<PageBody>('GET', `${collection}?limit=${limit}`)));
  return pages.flatMap(({ body }) => body.nextCursor ?? []);
}

function rowsOf({ app }: Service, collection: string): Promise<{ id: string }[]> {
  return app.get(DataSource).query(`SELECT * FROM ${collection.split('/').at(-1)}`);
}

/** A row, or what it must be by the body that was sent: without what is absent, times as times, and UUIDs in small letters. */
function asStored(row: object, properties: JsonObject = {}): object {
  const entries = Object.entries(row).filter(([, value]) => value !== null);
  return Object.fromEntries(
    entries.map(([name, value]: [string, unknown]) => {
      const { format } = asObject(properties[name]);
      return [name, format === 'uuid' ? String(value).toLowerCase() : format === 'date-time' ? new Date(String(value)) : value];
    }),
  );
}
