import type { Type } from '@nestjs/common';
import * as fc from 'fast-check';
import { isDeepStrictEqual } from 'node:util';
import { DataSource } from 'typeorm';
import { asObject, type JsonObject } from './json.js';
import { AccessTokensService } from '../../../src/platform/auth/access-tokens.service.js';
import { digestOf } from '../../../src/platform/auth/token-format.js';
import type { PageBody } from '../../support/api.js';
import { Contract, type Document } from '../../support/contract.js';
import { measured } from '../../support/measurements.js';
import { type Service, startService, TESTER } from '../../support/service.js';
import { accepted, type Constraint } from './constraint.js';
import { constraintsOf } from './constraints.js';
import { type Tokens, withoutCredentials, withoutScope } from './credentials.js';
import { describedOperations } from './described.js';
import { Fuzz } from './fuzz.js';
import { type FuzzRequest, requestOf } from './fuzz-request.js';
import { hostileAttempts } from './hostile.js';
import { settings } from './settings.js';
import { ValidDrafts } from './valid-drafts.js';
import { Wire } from './wire.js';

/** What is fuzzed. */
export interface Target {
  readonly document: Document;
  /** The module with the platform and the features. */
  readonly root: Type;
  /** Path of the collection; its table has the name of the last part. */
  readonly collection: string;
  /** How many requests are made, at least. */
  readonly requests: number;
}

/** Rows that there are before, for lists to have several pages. */
const ROWS = 12;

/** Stands for cursors until there are any. */
const NO_CURSORS = ['none'];

/**
 * Tests with requests that are generated from a document, and from nothing else, that the service does what the document says: takes
 * what it admits, refuses what breaks any of its constraints and names the place, lets nobody in without a token and scope, and
 * answers only what is documented, whatever is sent.
 */
export function describeFuzz({ document, root, collection, requests }: Target): void {
  const draftsWith = (cursors: readonly string[]) =>
    describedOperations(document, collection).map((operation) => new ValidDrafts(operation, cursors));
  const names = draftsWith(NO_CURSORS).flatMap((drafts) => Array.from(constraintsOf(drafts).keys()));

  describe(`${collection} is what its document says`, () => {
    let service: Service;
    let wire: Wire;
    let fuzz: Fuzz;
    let tokens: Tokens;
    let all: ValidDrafts[];
    let constraints: ReadonlyMap<string, Constraint>;

    beforeAll(async () => {
      service = await startService({ AUTH_FAILURE_BURST: '1000000' }, undefined, root);
      tokens = await issueTokens(service);
      wire = new Wire(service.port);
      fuzz = new Fuzz(new Contract(document), wire, tokens.good);
      const creations = accepted(fc.oneof(...creationsAmong(draftsWith(NO_CURSORS))));
      for (const creation of fc.sample(creations, { numRuns: ROWS, seed: settings.seed })) await fuzz.judge(creation);
      all = draftsWith(await cursorsOf(service, collection));
      constraints = new Map(all.map(constraintsOf).flatMap((ofOperation) => Array.from(ofOperation)));
    });

    afterAll(async () => {
      wire.close();
      await service.stop();
    });

    const constraint = (name: string): Constraint => {
      const found = constraints.get(name);
      if (!found) {
        throw new Error(`The document has no ${name}.`);
      }
      return found;
    };

    it.each(names)('refuses what breaks %s', (name) => fuzz.attempt(constraint(name).broken, (requests * 0.4) / names.length));

    it.each(names)('takes what keeps %s', (name) => fuzz.attempt(constraint(name).kept, (requests * 0.15) / names.length));

    it('takes all that the document admits', () =>
      fuzz.attempt(fc.oneof(...all.map((drafts) => accepted(drafts.drafts()))), requests * 0.1));

    it('answers a request with a key once, and another one with that key not at all', async () => {
      const pairs = fc.oneof(...creationsAmong(all).map((drafts) => fc.tuple(drafts, drafts, fc.noBias(fc.uuid()))));
      await fuzz.each(pairs, requests * 0.01, async ([first, second, key]) => {
        const send = (draft: typeof first) =>
          fuzz.judge({ request: withKey(requestOf(draft), key), operation: draft.operation, expected: { statuses: [201, 409] } });
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
        ...all.map((drafts) => accepted(drafts.drafts())),
        ...[...constraints.values()].map(({ broken }) => broken),
        hostileAttempts(all),
      );
      const { length } = await rowsOf(service, collection);
      await fuzz.attempt(withoutCredentials(attempts, tokens), requests * 0.15);
      await fuzz.attempt(withoutScope(attempts, tokens), requests * 0.05);
      expect((await rowsOf(service, collection)).length).toBe(length);
    });

    it('has stored what it answered 201, byte for byte, and nothing else', async () => {
      const schema = all.find(({ operation }) => operation.body)?.operation.body;
      const created = fuzz.ledger.created.get(collection) ?? new Map<string, object>();
      const rows = await rowsOf(service, collection);
      const differing = rows.filter(({ id, ...row }) => !isDeepStrictEqual(row, asStored(created.get(id), schema)));
      expect([rows.length, differing]).toEqual([created.size, []]);
      expect((await service.api.call('GET', collection)).status).toBe(200);
    });

    it('has been sent as many requests as it should, of which few met a conflict', () => {
      const counts = Object.fromEntries([...fuzz.answers].toSorted(([a], [b]) => a - b));
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

function creationsAmong(all: readonly ValidDrafts[]) {
  return all.filter(({ operation }) => operation.successes.includes(201)).map((drafts) => drafts.drafts());
}

/** Of a list without a filter. */
async function cursorsOf({ api }: Service, collection: string): Promise<string[]> {
  const limits = [1, 2, 3, 5, 8];
  const pages = await Promise.all(limits.map((limit) => api.call<PageBody>('GET', `${collection}?limit=${limit}`)));
  return pages.flatMap(({ body }) => body.nextCursor ?? []);
}

/** All rows of a collection as the database has them, without what is absent. */
async function rowsOf({ app }: Service, collection: string): Promise<{ id: string }[]> {
  const rows: { id: string }[] = await app.get(DataSource).manager.query(`SELECT * FROM ${collection.split('/').at(-1)}`);
  return rows.map(withoutAbsent);
}

/** What the database has of a body: times as times, and UUIDs in small letters. */
function asStored(body: object | undefined, schema: JsonObject = {}): object {
  const entries = Object.entries(withoutAbsent(body ?? {})).map(([name, value]): [string, unknown] => {
    const { format } = asObject(asObject(schema['properties'])[name]);
    if (typeof value !== 'string' || (format !== 'uuid' && format !== 'date-time')) {
      return [name, value];
    }
    return [name, format === 'uuid' ? value.toLowerCase() : new Date(value)];
  });
  return Object.fromEntries(entries);
}

function withoutAbsent<Row extends object>(row: Row): Row {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as Row;
}

function withKey(request: FuzzRequest, key: string): FuzzRequest {
  return { ...request, headers: [...request.headers.filter(([name]) => name !== 'Idempotency-Key'), ['Idempotency-Key', key]] };
}
