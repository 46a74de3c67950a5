import { Agent, request as send } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import type { Type } from '@nestjs/common';
import * as fc from 'fast-check';
import { DataSource } from 'typeorm';
import { AccessTokensService } from '../../../src/platform/auth/access-tokens.service.js';
import { digestOf } from '../../../src/platform/auth/token-format.js';
import { type Answer, LEAKS, type PageBody, type ProblemBody } from '../../support/api.js';
import { Contract, type Document } from '../../support/contract.js';
import { answerTo, HANG } from '../../support/http-client.js';
import { measured } from '../../support/measurements.js';
import { type Service, startService, TESTER } from '../../support/service.js';
import { hostileAttempts, type Tokens, withoutCredentials, withoutScope } from './hostile.js';
import { acceptedDrafts, type Attempt, describedOperations, Drafts, type FuzzRequest, requestOf } from './requests.js';
import { rulesOf } from './rules.js';
import { asObject, type JsonObject } from './values.js';

const { FUZZ_REQUESTS = '5000', FUZZ_SEED = '20260101', FUZZ_PATH } = process.env;

/** The same in every run, so that what fails was changed and not met by chance. */
const SEED = Number(FUZZ_SEED);

/** Requests for the committed document, at least. */
export const REQUESTS = Number(FUZZ_REQUESTS);

/** Requests at a time. */
const LANES = 4;

/** Rows that there are before, for lists to have several pages. */
const ROWS = 12;

const PROBLEM = { schema: { $ref: '#/components/schemas/Problem' } };
const KEY = 'Idempotency-Key';

/** Tests with at least so many requests, generated from a document and from nothing else, that the service does what it says. */
export function describeFuzz(document: Document, root: Type, collection: string, requests: number): void {
  const operations = describedOperations(document, collection);
  /** Filled once there are several pages. */
  const cursors: string[] = [];
  const all = operations.map((operation) => new Drafts(operation, cursors));
  const creations = all.filter(({ operation }) => operation.successes.includes(201)).map((drafts) => drafts.all);
  const rules = all.flatMap(rulesOf);
  const edges = rules.flatMap(([name, { kept }]) => (kept ? [[name, kept] as const] : []));
  const properties = asObject(operations.find(({ body }) => body)?.body?.['properties']);

  describe(`${collection} is what its document says`, () => {
    let service: Service;
    let fuzz: Fuzz;
    let tokens: Tokens;

    beforeAll(async () => {
      service = await startService({ AUTH_FAILURE_BURST: '1000000' }, undefined, root);
      tokens = await issueTokens(service);
      fuzz = new Fuzz(new Contract(document), service.port, tokens.good);
      const first = fc.sample(acceptedDrafts(fc.oneof(...creations)), { numRuns: ROWS, seed: SEED });
      for (const creation of first) await fuzz.judge(creation);
      const pages = await Promise.all(
        [1, 2, 3, 5, 8].map((limit) => service.api.call<PageBody>('GET', `${collection}?limit=${limit}`)),
      );
      cursors.push(...pages.flatMap(({ body }) => body.nextCursor ?? []));
    });

    afterAll(async () => {
      fuzz.agent.destroy();
      await service.stop();
    });

    const rowsOf = () => service.app.get(DataSource).getRepository<{ id: string }>(collection.replace('/v1/', '')).find();

    it.each(rules)('refuses what breaks %s', (_name, { broken }) => fuzz.attempt(broken, (requests * 0.4) / rules.length));

    it.each(edges)('takes what keeps %s', (_name, kept) => fuzz.attempt(kept, (requests * 0.05) / edges.length));

    it('takes all that the document admits', () =>
      fuzz.attempt(fc.oneof(...all.map((drafts) => acceptedDrafts(drafts.all))), requests * 0.2));

    it('answers a request with a key once, and another one with that key not at all', async () => {
      const pairs = fc.oneof(...creations.map((drafts) => fc.tuple(drafts, drafts, fc.noBias(fc.uuid()))));
      await fuzz.each(pairs, requests * 0.01, async ([first, second, key]) => {
        const post = ({ operation, parameters, json }: typeof first) => {
          const others = parameters.filter(({ name }) => name !== KEY);
          const keyed = [...others, { in: 'header', name: KEY, value: key }];
          return fuzz.judge({ request: requestOf({ operation, parameters: keyed, json }), operation, statuses: [201, 409] });
        };
        const { status, body } = await post(first);
        if (status === 201) {
          const repeated = await post(first);
          expect([repeated.body, repeated.headers.get('Idempotent-Replayed')]).toEqual([body, 'true']);
          expect((await post(second)).status).toBe(isDeepStrictEqual(first.json, second.json) ? 201 : 422);
        }
      });
    });

    it('withstands what nobody documented', () => fuzz.attempt(hostileAttempts(all), requests * 0.15));

    it('lets nobody in without a token or without the scope, whatever else is wrong', async () => {
      const attempts = fc.oneof(
        ...all.map((drafts) => acceptedDrafts(drafts.all)),
        ...rules.map(([, { broken }]) => broken),
        hostileAttempts(all),
      );
      const { length } = await rowsOf();
      await fuzz.attempt(withoutCredentials(attempts, tokens), requests * 0.15);
      await fuzz.attempt(withoutScope(attempts, tokens), requests * 0.05);
      expect((await rowsOf()).length).toBe(length);
    });

    it('has stored what it answered 201, byte for byte, and nothing else', async () => {
      const rows = await rowsOf();
      const differing = rows.filter(
        (row) => !isDeepStrictEqual(asStored(row, properties), asStored(fuzz.created.get(row.id), properties)),
      );
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

/** The properties of a row, or of the body that it was made of: without what is absent, times as times, and UUIDs in small letters. */
function asStored(values: object | undefined, properties: JsonObject): unknown[] {
  const given = (values ?? {}) as Record<string, string | number | boolean | Date | null>;
  const present = Object.entries(properties).filter(([name]) => (given[name] ?? null) !== null);
  return present.map(([name, schema]) => {
    const { format } = asObject(schema);
    const value = given[name] ?? '';
    const text = String(format === 'date-time' ? new Date(value as string).toJSON() : value);
    return [name, format === 'uuid' ? text.toLowerCase() : text];
  });
}

/** Makes attempts, and judges what comes back by the document. */
class Fuzz {
  /** The body of each request that was answered 201, by the id that it got. */
  readonly created = new Map<string, object>();
  readonly counts = new Map<number, number>();
  readonly agent = new Agent({ keepAlive: true });
  private readonly keys = new Map<string, number>();
  private seed = SEED;

  constructor(
    private readonly contract: Contract,
    private readonly port: number,
    private readonly token: string,
  ) {}

  /** Makes at least so many attempts of one kind. @throws Error for the first that fails, made small, with how to repeat it */
  async attempt(attempts: fc.Arbitrary<Attempt>, count: number): Promise<void> {
    await this.each(attempts, count, async (attempt) => void (await this.judge(attempt)));
  }

  /** The same with something that takes several requests. */
  async each<T>(values: fc.Arbitrary<T>, count: number, act: (value: T) => Promise<void>): Promise<void> {
    const property = fc.asyncProperty(values, act);
    if (FUZZ_PATH !== undefined) {
      return fc.assert(property, { seed: SEED, path: FUZZ_PATH, endOnFailure: true });
    }
    // Each lane has a seed of its own, so that the same values do not come back in all of them.
    const lanes = Array.from({ length: LANES }, () =>
      fc.assert(property, { numRuns: Math.ceil(count / LANES), seed: (this.seed += 1) }),
    );
    await Promise.allSettled(lanes);
    await Promise.all(lanes);
  }

  /** @throws Error when the response is not what the document says, or what was expected */
  async judge({ request, statuses, place, operation }: Attempt): Promise<Answer<unknown>> {
    const key = request.headers.find(([name]) => name === KEY)?.[1];
    if (key !== undefined) {
      this.keys.set(key, (this.keys.get(key) ?? 0) + 1);
    }
    const response = await this.send(request);
    const { status, headers, body } = response;
    this.counts.set(status, (this.counts.get(status) ?? 0) + 1);
    if (status === 201 && !headers.has('Idempotent-Replayed')) {
      const sent = JSON.parse(new TextDecoder().decode(Buffer.from(request.body ?? ''))) as object;
      this.created.set((body as { id: string }).id, sent);
    }
    // The key of another request may come back.
    const isReused = status === 422 && statuses.includes(201) && (this.keys.get(key ?? '') ?? 0) > 1;
    const problem = body as ProblemBody;
    const faults = [
      ...(operation ? this.contract.faultsOfAnswer(operation.operation, response) : this.faultsOfProblem(response)),
      ...(statuses.includes(status) || isReused ? [] : [`${statuses.join(' or ')} was expected`]),
      ...(status === 400 && place !== undefined ? faultsOfPlace(place, problem) : []),
      ...(status >= 400 && problem.requestId !== headers.get('X-Request-Id') ? ['it has two request ids'] : []),
      ...(status >= 400 && LEAKS.test(JSON.stringify(body)) ? ['it tells of what is inside'] : []),
    ];
    if (faults.length > 0) {
      const found = faults.map((fault) => JSON.stringify(fault)).join('\n');
      throw new Error(`The response was ${status} ${JSON.stringify(body)}\n${found}`);
    }
    return response;
  }

  private async send({ method, target, headers, body, hasOwnCredentials }: FuzzRequest): Promise<Answer<unknown>> {
    const { agent, port, token } = this;
    const fields = [
      ['Host', `127.0.0.1:${port}`],
      ...(hasOwnCredentials ? [] : [['Authorization', `Bearer ${token}`]]),
      ...headers,
      ...(body === undefined ? [] : [['Content-Length', String(Buffer.byteLength(body))]]),
    ];
    const outgoing = send({ host: '127.0.0.1', port, agent, method, path: target, headers: fields.flat(), timeout: HANG });
    const whole = answerTo(outgoing);
    outgoing.end(body);
    const { response, body: text } = await whole;
    const received = Object.entries(response.headersDistinct).flatMap(([name, values = []]) =>
      values.map((value): [string, string] => [name, value]),
    );
    return { status: response.statusCode ?? 0, headers: new Headers(received), body: parse(text) };
  }

  private faultsOfProblem({ status, headers, body }: Answer<unknown>): unknown[] {
    const mediaType = headers.get('Content-Type') ?? '';
    return [
      ...(mediaType.startsWith('application/problem+json') ? [] : [`It is ${mediaType}`]),
      ...(status === 405 && headers.get('Allow') === null ? ['It lacks Allow'] : []),
      ...this.contract.faultsOf(PROBLEM, body),
    ];
  }
}

/** What is not JSON is left as it is, for the document to judge. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A place counts as named by what is below it. */
function faultsOfPlace(place: string, { errors = [] }: ProblemBody): unknown[] {
  const named = errors.map(({ pointer, parameter }) => pointer ?? parameter ?? '');
  const isMeant = (name: string) => name === place || (place.startsWith('/') && name.startsWith(`${place}/`));
  return named.length > 0 && named.every(isMeant) ? [] : [`It should name ${place}, and names ${named.join() || 'nothing'}`];
}
