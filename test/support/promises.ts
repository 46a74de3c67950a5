import { isDeepStrictEqual } from 'node:util';
import type { Type } from '@nestjs/common';
import * as fc from 'fast-check';
import { DataSource } from 'typeorm';
import { AppModule } from '../../src/app.module.js';
import { AccessTokensService } from '../../src/platform/auth/access-tokens.service.js';
import { digestOf } from '../../src/platform/auth/token-format.js';
import type { Answer, PageBody, ProblemBody } from './api.js';
import { Contract, examplesOf, type Operation } from './contract.js';
import {
  ATTEMPTS,
  type Described,
  describedOperations,
  type Draft,
  forbidden,
  requestOf,
  unauthorized,
} from './fuzz/attempts.js';
import { Fuzz } from './fuzz/fuzz.js';
import { asObject, type JsonObject, propertiesOf, unbrokenRules } from './fuzz/values.js';
import { startMeasured } from './scrape.js';
import { type Service, startService, TESTER } from './service.js';

interface Row {
  id: string;
  [property: string]: unknown;
}

interface Page {
  items: Row[];
  nextCursor?: string;
}

/** Rows that there are before, for lists to have several pages. */
const ROWS = 12;

/**
 * Tests what the platform promises of a collection, such as `/v1/items`, and that it does what its own document says.
 *
 * @param requests - to generate from the document and from nothing else, at least
 */
export function describePromises(path: string, root: Type = AppModule, requests = 500): void {
  describe(`${path} keeps what the platform promises`, () => {
    let service: Service;
    let contract: Contract;
    let list: Operation;
    let create: Operation;
    let fuzz: Fuzz;
    let operations: Described[];
    let creating: Described;

    beforeAll(async () => {
      service = await startService({ AUTH_FAILURE_BURST: '1000000' }, undefined, root);
      contract = await Contract.read(service.api.origin);
      list = contract.operation('get', path);
      create = contract.operation('post', path);
      fuzz = new Fuzz(contract, service.port, service.api.token);
      const cursors: string[] = [];
      operations = describedOperations(contract.document, path, cursors);
      creating = operations.find(({ operation }) => operation === create) as Described;
      for (let row = 0; row < ROWS; row += 1) await fuzz.judge(creation(newBody()));
      const pages = [1, 2, 3, 5, 8].map((limit) => service.api.call<PageBody>('GET', `${path}?limit=${limit}`));
      cursors.push(...(await Promise.all(pages)).flatMap(({ body }) => body.nextCursor ?? []));
    });

    afterAll(async () => {
      fuzz.agent.destroy();
      await service.stop();
    });

    let created = 0;
    /** The example, with texts of its own each time: some may have to be unique. */
    const newBody = () => {
      created += 1;
      const [example] = Object.values(create.requestBody?.content ?? {}).flatMap(examplesOf);
      const { properties } = contract.bodyOf(create);
      const changed = (name: string, value: unknown) => {
        const { enum: words, format } = properties[name] ?? {};
        return typeof value === 'string' && !words && !format ? `${value} ${created}` : value;
      };
      return Object.fromEntries(Object.entries(asObject(example)).map(([name, value]) => [name, changed(name, value)]));
    };
    /** A request that creates a row, with a key if it has one. */
    const creation = (json: unknown, key?: string) => {
      const parameters: Draft['parameters'] = key === undefined ? [] : [{ in: 'header', name: 'Idempotency-Key', value: key }];
      return { request: requestOf(creating, { parameters, json }), operation: create, statuses: [201, 409] };
    };
    const rowsOf = () => service.app.get(DataSource).getRepository<Row>(path.replace('/v1/', '')).find();
    const all = () => fc.oneof(...ATTEMPTS.flatMap(([, , attempts]) => operations.flatMap(attempts)));

    it.each(ATTEMPTS)('responds as documented to %s', async (_what, part, attempts) => {
      await fuzz.attempt(fc.oneof(...operations.flatMap(attempts)), requests * part);
    });

    it('creates once what is sent twice with a key, and not another request with that key', async () => {
      const pairs = fc.tuple(creating.drafts, creating.drafts, fc.noBias(fc.uuid()));
      await fuzz.each(pairs, requests * 0.01, async ([{ json: first }, { json: second }, key]) => {
        const { status, body } = await fuzz.judge(creation(first, key));
        if (status === 201) {
          const repeated = await fuzz.judge(creation(first, key));
          expect([repeated.body, repeated.headers.get('Idempotent-Replayed')]).toEqual([body, 'true']);
          const other = await fuzz.judge(creation(second, key));
          expect(other.status).toBe(isDeepStrictEqual(first, second) ? 201 : 422);
        }
      });
    });

    it('refuses requests without a token or without the scope, whatever else is wrong', async () => {
      const revoked = await service.newClient('revoked');
      await service.app.get(AccessTokensService).revoke({ digest: digestOf(revoked.token) }, TESTER);
      const expired = await service.newClient('expired', { expiresAt: new Date(Date.now() - 1) });
      const elsewhere = await service.newClient('elsewhere', { scopes: ['something:else'] });
      await fuzz.attempt(unauthorized(all(), service.api.token, [revoked.token, expired.token]), requests * 0.15);
      await fuzz.attempt(forbidden(all(), elsewhere.token), requests * 0.05);
    });

    it('has stored every row that it created, byte for byte, and nothing else', async () => {
      const properties = propertiesOf(creating.body ?? {});
      const rows = await rowsOf();
      const differing = rows.filter(
        (row) => !isDeepStrictEqual(asStored(row, properties), asStored(fuzz.created.get(row.id), properties)),
      );
      expect([rows.length, differing]).toEqual([fuzz.created.size, []]);
    });

    it('has been sent as many requests as it should, which broke every rule, and of which few met a conflict', () => {
      expect(unbrokenRules(creating.body ?? {})).toEqual([]);
      const counts = Object.fromEntries([...fuzz.counts].toSorted(([a], [b]) => a - b));
      const sum = Object.values(counts).reduce((total, count) => total + count, 0);
      expect(sum).toBeGreaterThanOrEqual(requests);
      expect(counts[409] ?? 0).toBeLessThan(counts[201] ?? 0);
      for (const status of [200, 201, 400, 401, 403, 404, 405, 413]) expect(counts[status]).toBeGreaterThan(0);
    });

    it('needs the scopes that it documents', async () => {
      for (const [method, operation] of [
        ['GET', list],
        ['POST', create],
      ] as const) {
        const scopes = operation.security?.[0]?.token ?? [];
        expect(scopes.length).toBeGreaterThan(0);
        expect(operation.description).toContain(`Needs the scope \`${scopes.join('` and `')}\`, if`);
        const restricted = await service.newClient('restricted', { scopes: ['something:else'] });
        const challenge = `Bearer realm="items", error="insufficient_scope", scope="${scopes.join(' ')}"`;
        expect((await restricted.call(method, path)).headers.get('WWW-Authenticate')).toBe(challenge);
        const granted = await service.newClient('granted', { scopes });
        expect((await granted.call(method, path)).status).toBe(method === 'GET' ? 200 : 400);
      }
    });

    it('creates what a walk then meets exactly once, newest first, whatever is created meanwhile', async () => {
      const before = (await rowsOf())
        .map(({ id }) => id)
        .toSorted()
        .toReversed();
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const { body: page } = await service.api.call<Page>('GET', `${path}?limit=100${cursor ? `&cursor=${cursor}` : ''}`);
        seen.push(...page.items.map(({ id }) => id));
        cursor = page.nextCursor;
        await fuzz.judge(creation(newBody()));
      } while (cursor);
      expect(seen).toEqual(before);
    });

    it('is documented whole, with examples that are valid', async () => {
      expect(await contract.validate()).toEqual({ valid: true });
      for (const operation of [list, create]) {
        expect([operation.summary, operation.operationId]).toEqual([expect.any(String), expect.any(String)]);
        expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(['400', '401', '403', '429', '503']));
        const parts = [operation.requestBody, ...Object.values(operation.responses)];
        for (const media of parts.flatMap((part) => Object.values(part?.content ?? {}))) {
          const examples = examplesOf(media);
          expect(examples.length).toBeGreaterThan(0);
          expect(examples.flatMap((example) => contract.faultsOf(media, example))).toEqual([]);
        }
      }
    });

    it('counts requests by token, and measures them', async () => {
      const limited = await startMeasured({ RATE_LIMIT: '2' }, root);
      const answers: Answer<ProblemBody>[] = [];
      for (const method of ['GET', 'POST', 'GET']) answers.push(await limited.api.call(method, path));
      const scrape = await limited.scrape();
      await limited.stop();
      const statuses = answers.map(({ status }) => status);
      expect(statuses).toEqual([200, 400, 429]);
      expect(answers.slice(2).flatMap((answer) => contract.faultsOfAnswer(list, answer))).toEqual([]);
      for (const [index, method] of ['GET', 'POST', 'GET'].entries()) {
        const labels = { route: path, method, status: String(statuses[index]) };
        expect(scrape.sum('items_http_request_duration_seconds_count', labels)).toBe(1);
      }
    });
  });
}

/** The properties of a row, or of the body that it was made of: without what is absent, times as times, and UUIDs in lower case. */
function asStored(values: object | undefined, properties: readonly (readonly [string, JsonObject])[]): unknown[] {
  const given = (values ?? {}) as Record<string, string | number | boolean | Date | null>;
  const present = properties.filter(([name]) => (given[name] ?? null) !== null);
  return present.map(([name, { format }]) => {
    const value = given[name] ?? '';
    const text = String(format === 'date-time' ? new Date(value as string).toJSON() : value);
    return [name, format === 'uuid' ? text.toLowerCase() : text];
  });
}
