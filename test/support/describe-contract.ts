import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Type } from '@nestjs/common';
import * as fc from 'fast-check';
import { DataSource } from 'typeorm';
import { AppModule } from '../../src/app.module.js';
import { AccessTokensService } from '../../src/platform/auth/access-tokens.service.js';
import type { Answer, Api, PageBody, ProblemBody } from './api.js';
import { Contract, examplesOf, isJson, type Operation } from './contract.js';
import {
  accepted,
  ATTEMPTS,
  type Described,
  describedOperations,
  type Draft,
  type FuzzRequest,
  forbidden,
  requestOf,
  unauthorized,
} from './fuzz/attempts.js';
import { Fuzz } from './fuzz/fuzz.js';
import { asObject, unbrokenRules } from './fuzz/values.js';
import { type MeasuredService, startMeasured } from './scrape.js';
import { TESTER } from './service.js';

/** A row as clients see it. */
export interface Row {
  id: string;
  [property: string]: unknown;
}

interface ContractOptions {
  /** With the module of the collection. */
  root?: Type;
  /** To generate from the document and from nothing else, at least. */
  requests?: number;
  /** Makes a different valid body for each count; by default the example of the document with other texts. */
  body?: (count: number) => object;
  /** Of its rows, if the path does not end with it. */
  table?: string;
  /** Creates the parents of a collection whose path has parameters, such as `/v1/books/0190163d-…/loans`. */
  at?: (api: Api) => Promise<string>;
  /** Operations that need no token, such as `POST /v1/orders/events`: none, unless given. */
  open?: readonly string[];
  /** In which order the list has its rows: newest first, unless given. */
  order?: (a: Row, b: Row) => number;
}

interface Page {
  items: Row[];
  nextCursor?: string;
}

/** Requests of a token before it has used up the low limit: more than a collection has operations. */
const LIMIT = 30;

/** Services for the collections of one module, with the default and with a low limit, which stop at the end of the file. */
const served = new Map<Type, Promise<MeasuredService[]>>();

afterAll(async () => {
  const services = await Promise.all(served.values());
  for (const service of services.flat()) await service.stop();
});

/** Rows that there are before, for lists to have several pages. */
const ROWS = 12;

const newestFirst = (a: Row, b: Row) => (a.id < b.id ? 1 : -1);

/**
 * Tests what the platform guarantees of a collection and of its rows, and that they do what their own document says.
 *
 * @param path - as the document has it, such as `/v1/items` or `/v1/books/{bookId}/loans`
 */
export function describeContract(path: string, options: ContractOptions = {}): void {
  const { root = AppModule, requests = 500, body: bodyOf, at = () => Promise.resolve(path), open = [], order } = options;
  const { table = (path.split('/').at(-1) ?? '').replaceAll('-', '_') } = options;

  describe(`${path} keeps the guarantees of the platform`, () => {
    let service: MeasuredService;
    let limited: MeasuredService;
    let api: Api;
    let contract: Contract;
    let list: Operation;
    let create: Operation;
    let fuzz: Fuzz;
    let operations: Described[];
    /** Those that need a token. */
    let guarded: Described[];
    let creating: Described;
    /** Rows that there were before. */
    let others: ReadonlySet<string>;

    beforeAll(async () => {
      const environments = [{ AUTH_FAILURE_BURST: '1000000' }, { RATE_LIMIT: String(LIMIT) }];
      const services = served.get(root) ?? Promise.all(environments.map((environment) => startMeasured(environment, root)));
      served.set(root, services);
      [service, limited] = (await services) as [MeasuredService, MeasuredService];
      api = await service.newClient();
      contract = await Contract.read(service.api.origin);
      list = contract.operation('get', path);
      create = contract.operation('post', path);
      fuzz = new Fuzz(contract, service.port, api.token, path, await at(api));
      fuzz.bodies = bodyOf && fc.constant(0).map(newBody);
      operations = describedOperations(contract.document, path, fuzz);
      guarded = operations.filter(({ operation }) => operation.security?.length !== 0);
      creating = operations.find(({ operation }) => operation === create) as Described;
      const hasTable = service.app.get(DataSource).hasMetadata(table);
      expectOrFix(hasTable, `No entity has the table ${table}: give the option \`table\`.`);
      others = new Set((await rowsOf()).map(({ id }) => id));
      for (let row = 0; row < ROWS; row += 1) {
        const { status } = await fuzz.judge(creation(newBody()));
        expectOrFix(
          status === 201,
          'Of several creates, one is a conflict: give the option `body`, with other values each time.',
        );
      }
      const pages = [1, 2, 3, 5, 8].map((limit) => api.call<PageBody>('GET', `${fuzz.here}?limit=${limit}`));
      fuzz.cursors.push(...(await Promise.all(pages)).flatMap(({ body }) => body.nextCursor ?? []));
    });

    afterAll(() => {
      // Undefined if the preparation failed, whose error is the one to read.
      (fuzz as Fuzz | undefined)?.agent.destroy();
    });

    let created = 0;
    /** The example with different texts each time, because some may have to be unique. */
    const newBody = () => {
      created += 1;
      if (bodyOf) return bodyOf(created);
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
      const parameters: Draft['parameters'] =
        key === undefined ? [] : [{ in: 'header', name: 'Idempotency-Key', value: key }];
      return { request: requestOf(creating, { parameters, json }), operation: create, statuses: [201, 409] };
    };
    const rowsOf = () => service.app.get(DataSource).getRepository<Row>(table).find();
    const ofRows = () => operations.filter(({ rowId }) => rowId !== undefined);
    /** Whether only creates make rows. */
    const isAlone = () => operations.every(({ method, operation }) => method !== 'POST' || operation === create);
    const all = () => fc.oneof(...ATTEMPTS.flatMap(([, , attempts]) => guarded.flatMap(attempts)));

    it.each(ATTEMPTS)('responds as documented to %s [responses-documented]', async (_what, part, attempts) => {
      await fuzz.attempt(fc.oneof(...operations.flatMap(attempts)), requests * part);
    });

    it('creates once for repeated requests with a key, and rejects another request with that key', async () => {
      const pairs = fc.tuple(creating.drafts, creating.drafts, fc.noBias(fc.uuid()));
      await fuzz.attempt(pairs, requests * 0.01, async ([{ json: first }, { json: second }, key]) => {
        const { status, body } = await fuzz.judge(creation(first, key));
        if (status === 201) {
          const repeated = await fuzz.judge(creation(first, key));
          expect([repeated.body, repeated.headers.get('Idempotent-Replayed')]).toEqual([body, 'true']);
          const other = await fuzz.judge(creation(second, key));
          expect(other.status).toBe(isDeepStrictEqual(first, second) ? 201 : 422);
        }
      });
    });

    it('finds a row until it is deleted', async () => {
      const { id } = (await fuzz.judge(creation(newBody()))).body as Row;
      // Later requests for a deleted row do not find it: each attempt is repeated.
      for (const operation of [...ofRows(), ...ofRows()]) {
        await fuzz.judge(accepted(requestFor(operation, id, operation.body && {}), operation));
      }
    });

    it('does not find a row that is deleted during an update', async () => {
      for (const operation of ofRows().filter(({ method }) => method === 'PATCH')) {
        const { id } = (await fuzz.judge(creation(newBody()))).body as Row;
        const updated = await service.app.get(DataSource).transaction(async (manager) => {
          await manager.delete(table, id);
          fuzz.created.delete(id);
          const response = fuzz.judge(accepted(requestFor(operation, id, {}), operation));
          await Promise.race([response, delay(100)]);
          return { response };
        });
        await updated.response;
      }
    });

    it('compares the tags of rows that have one, and sends none with a list [etag-conditions]', async () => {
      expect((await api.call('GET', fuzz.here)).headers.get('ETag')).toBe(null);
      for (const operation of ofRows().filter(({ parameters }) => parameters.some(({ name }) => name === 'If-Match'))) {
        const { body, headers } = await fuzz.judge(creation(newBody()));
        const { id, etag } = body as { id: string; etag: string };
        expect(headers.get('ETag')).toBe(etag);
        const send = async (name: string, value: string, statuses: number[], row = id) => {
          const request = requestFor(operation, row, operation.body && {}, { in: 'header', name, value });
          return (await fuzz.judge({ request, operation: operation.operation, statuses })).headers.get('ETag');
        };
        const isRead = operation.method === 'GET';
        for (const value of ['"other"', `W/${etag}`, '']) await send('If-Match', value, [412]);
        for (const value of [etag.slice(1), `${etag} *`, `w/${etag}`]) await send('If-Match', value, [400]);
        await send('If-Match', '*', [isRead ? 404 : 412], randomUUID());
        if (isRead) {
          for (const value of ['*', etag, `W/${etag}`, `"other", ${etag}`]) await send('If-None-Match', value, [304]);
          for (const value of ['"other"', etag.toUpperCase()]) expect(await send('If-None-Match', value, [200])).toBe(etag);
        }
        const next = await send('If-Match', `"other" ,\t,${etag}`, [...operation.successes]);
        expect(next === etag).toBe(isRead);
        if (!isRead) await send('If-Match', etag, [412]);
      }
    });

    it('rejects requests without a token or scope, regardless of other errors', async () => {
      const revoked = await service.newClient('revoked');
      await service.app.get(AccessTokensService).revoke({ token: revoked.token }, TESTER);
      const expired = await service.newClient('expired', { expiresAt: new Date(Date.now() - 1) });
      const elsewhere = await service.newClient('elsewhere', { scopes: ['something:else'] });
      await fuzz.attempt(unauthorized(all(), api.token, [revoked.token, expired.token]), requests * 0.15);
      await fuzz.attempt(forbidden(all(), elsewhere.token), requests * 0.05);
    });

    it('has stored every row that it created, byte for byte, and no other [text-unchanged]', async () => {
      const rows = (await rowsOf()).filter(({ id }) => !others.has(id));
      const known = rows.filter(({ id }) => fuzz.created.has(id) || isAlone());
      const differing = known.filter((row) => !fuzz.isKept(row.id, row));
      expect([known.length, differing]).toEqual([fuzz.created.size, []]);
    });

    it('was sent the intended number of requests, which broke every rule, with few conflicts', () => {
      expect(operations.flatMap((operation) => unbrokenRules(operation.body ?? {}))).toEqual([]);
      const counts = Object.fromEntries([...fuzz.counts].toSorted(([a], [b]) => a - b));
      const sum = Object.values(counts).reduce((total, count) => total + count, 0);
      expect(sum).toBeGreaterThanOrEqual(requests);
      const isMostlyNew = (counts[409] ?? 0) < (counts[201] ?? 0);
      expectOrFix(isMostlyNew, 'Most creates are conflicts: let examples and constraints allow more values.');
      const successes = operations.flatMap((operation) => operation.successes);
      for (const status of [...successes, 400, 401, 403, 404, 405, 413]) expect(counts[status]).toBeGreaterThan(0);
    });

    it('needs a token, except where it is meant to be open', () => {
      const found = operations.filter((each) => !guarded.includes(each)).map(({ method, path: own }) => `${method} ${own}`);
      expect(found).toEqual(open);
    });

    it('needs the scopes that it documents', async () => {
      for (const described of guarded) {
        const { method, operation } = described;
        const target = requestFor(described).target;
        const scopes = operation['x-required-scopes'] ?? [];
        expect(scopes.length).toBeGreaterThan(0);
        expect(operation.description).toContain(`A token that is restricted to scopes needs \`${scopes.join('` and `')}\`.`);
        const restricted = await service.newClient('restricted', { scopes: ['something:else'] });
        const challenge = `Bearer realm="items", error="insufficient_scope", scope="${scopes.join(' ')}"`;
        expect((await restricted.call(method, target)).headers.get('WWW-Authenticate')).toBe(challenge);
        const granted = await service.newClient('granted', { scopes });
        expect((await granted.call(method, target)).status).toBe(statusOf(described));
      }
    });

    it('announces in every response whether its operation is deprecated [deprecation-announced]', async () => {
      const elsewhere = await service.newClient('elsewhere', { scopes: ['something:else'] });
      for (const described of operations) {
        const { method, operation } = described;
        const { target } = requestFor(described);
        const answers = [
          await api.call(method, target),
          await api.send(method, target),
          await elsewhere.call(method, target),
        ];
        const { deprecated = false, 'x-sunset': sunset = '' } = operation;
        const expected = deprecated ? [expect.stringMatching(/^@\d+$/), new Date(sunset).toUTCString()] : [null, null];
        for (const { headers } of answers) expect([headers.get('Deprecation'), headers.get('Sunset')]).toEqual(expected);
      }
    });

    it('returns created rows exactly once, newest first, during concurrent creates [walk-exactly-once] [ordered-exactly-once]', async () => {
      const before = new Set(fuzz.created.keys());
      const seen: Row[] = [];
      let cursor: string | undefined;
      do {
        const { body: page } = await api.call<Page>('GET', `${fuzz.here}?limit=100${cursor ? `&cursor=${cursor}` : ''}`);
        seen.push(...page.items);
        cursor = page.nextCursor;
        await fuzz.judge(creation(newBody()));
      } while (cursor);
      // In another order, concurrent rows may come first.
      const met = seen.map(({ id }) => id).filter((id) => (!order && isAlone() && !others.has(id)) || before.has(id));
      expect(met.toSorted()).toEqual([...before].toSorted());
      expect(seen).toEqual(seen.toSorted(order ?? newestFirst));
    });

    it('is documented completely, with valid examples', async () => {
      expect(await contract.validate()).toEqual({ valid: true });
      const { limit } = Object.fromEntries((list.parameters ?? []).map(({ name, schema }) => [name, schema]));
      const { maximum } = limit as { maximum: number };
      expect(contract.schemaOf(list.responses[200]).properties['items']).toMatchObject({ maxItems: maximum });
      for (const { operation, path: template } of operations) {
        const missing = template.includes('{') ? ['404'] : [];
        const refusals = operation.security?.length === 0 ? [] : ['401', '403', '429'];
        expect([operation.summary, operation.operationId]).toEqual([expect.any(String), expect.any(String)]);
        expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(['400', ...refusals, '503', ...missing]));
        const parts = [operation.requestBody, ...Object.values(operation.responses)];
        const contents = parts.flatMap((part) => Object.entries(part?.content ?? {}));
        for (const [, media] of contents.filter(([type]) => isJson(type))) {
          const examples = examplesOf(media);
          expect(examples.length).toBeGreaterThan(0);
          expect(examples.flatMap((example) => contract.faultsOf(media, example))).toEqual([]);
        }
      }
    });

    it('counts requests by token, and measures them', async () => {
      const here = await at(await limited.newClient());
      const client = await limited.newClient();
      const lists = guarded.filter(({ operation }) => operation === list);
      const calls = [...guarded, ...Array.from({ length: LIMIT + 1 - guarded.length }, () => lists).flat()];
      const answers: [Described, Answer<ProblemBody>][] = [];
      for (const call of calls) {
        answers.push([call, await client.call(call.method, requestFor(call).target.replace(fuzz.here, here))]);
      }
      const scrape = await limited.scrape();
      expect(answers.map(([, { status }]) => status)).toEqual([...calls.slice(0, LIMIT).map(statusOf), 429]);
      for (const [{ method, path: template, operation }, answer] of answers) {
        expect(contract.faultsOfAnswer(operation, answer)).toEqual([]);
        const labels = { route: template.replaceAll(/\{(\w+)\}/g, ':$1'), method, status: String(answer.status) };
        const alike = answers.filter(([other, { status }]) => other.operation === operation && status === answer.status);
        expect(scrape.sum('items_http_request_duration_seconds_count', labels)).toBe(alike.length);
      }
    });
  });
}

/** @throws Error that says how to fix what the suite cannot test */
function expectOrFix(isGiven: boolean, fix: string): void {
  if (!isGiven) throw new Error(fix);
}

/** The response of an operation to a request without a body when there is no row. */
function statusOf({ media, rowId, successes: [success = 200] }: Described): number {
  return media ? 400 : rowId === undefined ? success : 404;
}

/** Unless there is an id, a row that there is not. */
function requestFor(
  operation: Described,
  id: string = randomUUID(),
  json?: unknown,
  ...headers: Draft['parameters']
): FuzzRequest {
  const { rowId } = operation;
  const ids = rowId === undefined ? [] : [{ in: 'path', name: rowId, value: id }];
  return requestOf(operation, { parameters: [...ids, ...headers], json });
}
