import { Agent, request as send } from 'node:http';
import * as fc from 'fast-check';
import { type Answer, LEAKS, type ProblemBody } from '../api.js';
import type { Contract } from '../contract.js';
import { answerTo, HANG } from '../http-client.js';
import type { Attempt, FuzzRequest } from './attempts.js';

const { FUZZ_SEED = '20260101', FUZZ_PATH } = process.env;

/** Requests at a time. */
const CONCURRENCY = 4;

const PROBLEM = { schema: { $ref: '#/components/schemas/Problem' } };

/** Makes attempts, and judges what comes back by the document. */
export class Fuzz {
  /** The body of each request that created a row, by the id that it got. */
  readonly created = new Map<string, object>();
  readonly counts = new Map<number, number>();
  readonly agent = new Agent({ keepAlive: true });
  private readonly keys = new Map<string, number>();
  /** The same in every run, so that what fails was changed and not met by chance. */
  private seed = Number(FUZZ_SEED);

  constructor(
    private readonly contract: Contract,
    private readonly port: number,
    private readonly token: string,
  ) {}

  /** Makes at least so many attempts. @throws Error for the first that fails, made small, with how to repeat it */
  async attempt(attempts: fc.Arbitrary<Attempt>, count: number): Promise<void> {
    await this.each(attempts, count, async (attempt) => void (await this.judge(attempt)));
  }

  /** The same with something that takes several requests. */
  async each<T>(values: fc.Arbitrary<T>, count: number, act: (value: T) => Promise<void>): Promise<void> {
    const property = fc.asyncProperty(values, act);
    if (FUZZ_PATH !== undefined) {
      return fc.assert(property, { seed: this.seed, path: FUZZ_PATH, endOnFailure: true });
    }
    // Each run has a seed of its own, so that the same values do not come back in all of them.
    const runs = Array.from({ length: CONCURRENCY }, () =>
      fc.assert(property, { numRuns: Math.ceil(count / CONCURRENCY), seed: (this.seed += 1) }),
    );
    await Promise.allSettled(runs);
    await Promise.all(runs);
  }

  /** @throws Error when the response is not what the document says, or what was expected */
  async judge({ request, statuses, locations, operation }: Attempt): Promise<Answer<unknown>> {
    const key = request.headers.find(([name]) => name === 'Idempotency-Key')?.[1] ?? '';
    this.keys.set(key, (this.keys.get(key) ?? 0) + 1);
    const response = await this.send(request);
    const { status, headers, body } = response;
    this.counts.set(status, (this.counts.get(status) ?? 0) + 1);
    if (status === 201 && !headers.has('Idempotent-Replayed')) {
      const sent = JSON.parse(new TextDecoder().decode(Buffer.from(request.body ?? ''))) as object;
      this.created.set((body as { id: string }).id, sent);
    }
    // The key of another request may come back.
    const isReused = status === 422 && statuses.includes(201) && key !== '' && (this.keys.get(key) ?? 0) > 1;
    const problem = body as ProblemBody;
    const faults = [
      ...(operation ? this.contract.faultsOfAnswer(operation, response) : this.faultsOfProblem(response)),
      ...(statuses.includes(status) || isReused ? [] : [`${statuses.join(' or ')} was expected`]),
      ...(status === 400 && locations ? faultsOfLocations(locations, problem) : []),
      ...(status >= 400 && problem.requestId !== headers.get('X-Request-Id') ? ['it has two request ids'] : []),
      ...(status >= 400 && LEAKS.test(JSON.stringify(body)) ? ['it shows what is inside'] : []),
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

function faultsOfLocations(locations: readonly string[], { errors = [] }: ProblemBody): unknown[] {
  const named = errors.map(({ pointer, parameter }) => pointer ?? parameter ?? '');
  const areAllMeant = named.every((name) => locations.some((location) => isAt(name, location)));
  const areAllNamed = locations.every((location) => named.some((name) => isAt(name, location)));
  return areAllMeant && areAllNamed ? [] : [`It should name ${locations.join()}, and names ${named.join() || 'nothing'}`];
}

/** A location counts as named by what is below it. */
function isAt(name: string, location: string): boolean {
  return name === location || (location.startsWith('/') && name.startsWith(`${location}/`));
}
