import { Agent, request as send } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { type Answer, LEAKS, type ProblemBody } from '../api.js';
import type { Contract, Property, Schema } from '../contract.js';
import { answerTo, HANG } from '../http-client.js';
import type { Attempt, FuzzRequest, Known } from './attempts.js';
import { asObject } from './values.js';

const { FUZZ_SEED = '20260101', FUZZ_PATH } = process.env;

const PROBLEM = { schema: { $ref: '#/components/schemas/Problem' } };

/** Makes attempts, and checks the responses against the document. */
export class Fuzz implements Known {
  readonly parents: Known['parents'];
  readonly cursors: string[] = [];
  /** The values that clients sent for each existing row, by its id. */
  readonly created = new Map<string, object>();
  bodies: Known['bodies'];
  readonly counts = new Map<number, number>();
  readonly agent = new Agent({ keepAlive: true });
  private readonly keys = new Set<string>();
  /** The paths below the collection that are of no row, such as `/v1/items/export`. */
  private readonly fixed: ReadonlySet<string>;
  private readonly properties: Schema['properties'];
  /** The same in every run, so that a failure is caused by a change and not by chance. */
  private seed = Number(FUZZ_SEED);

  /** @param here - where the collection is that the document has at a path with parameters */
  constructor(
    private readonly contract: Contract,
    private readonly port: number,
    readonly token: string,
    path: string,
    readonly here: string,
  ) {
    const segments = here.split('/');
    const named = path.split('/').map((segment, index) => [/^\{(.+)\}$/.exec(segment)?.[1] ?? '', segments[index] ?? '']);
    this.parents = Object.fromEntries(named.filter(([name]) => name !== '')) as Known['parents'];
    this.properties = contract.bodyOf(contract.operation('post', path)).properties;
    const below = Object.keys(contract.document.paths).filter((other) => other.startsWith(`${path}/`));
    const fixed = below.filter((other) => !other.endsWith('}'));
    this.fixed = new Set(fixed.map((other) => (here + other.slice(path.length)).toLowerCase()));
  }

  /** Makes so many attempts, or something that takes several requests. @throws Error for the first failure, with the seed to repeat it */
  async attempt<T = Attempt>(
    values: fc.Arbitrary<T>,
    count: number,
    act: (value: T) => Promise<unknown> = (attempt) => this.judge(attempt as Attempt),
  ): Promise<void> {
    const property = fc.asyncProperty(values, async (value) => void (await act(value)));
    // Each run has another seed, so that values are not repeated, unless one run is.
    const seeds =
      FUZZ_PATH === undefined ? { seed: (this.seed += 1) } : { seed: this.seed, path: FUZZ_PATH, endOnFailure: true };
    await fc.assert(property, { numRuns: Math.ceil(count), ...seeds });
  }

  /** Whether a row, or its response, has the values that clients sent. */
  isKept(id: string, values: object, names: readonly string[] = Object.keys(this.properties)): boolean {
    const properties = Object.entries(this.properties).filter(([name]) => names.includes(name));
    return isDeepStrictEqual(asStored(values, properties), asStored(this.created.get(id), properties));
  }

  /** @throws Error if the response does not match the document or the expectation */
  async judge({ request, statuses: all, locations, operation }: Attempt): Promise<Answer<unknown>> {
    const path = request.target.replace(/\?.*/, '').toLowerCase();
    const id = path.startsWith(`${this.here.toLowerCase()}/`) ? path.slice(this.here.length + 1) : '';
    const isThere = path === this.here.toLowerCase() || this.fixed.has(path) || this.created.has(id);
    const isPossible = (status: number) => !operation || (isThere ? status !== 404 : status >= 400 && status !== 409);
    const statuses = all.filter(isPossible);
    const key = request.headers.find(([name]) => name === 'Idempotency-Key')?.[1];
    // The key of another request may come back.
    const isReused = key !== undefined && this.keys.has(key);
    if (key !== undefined) this.keys.add(key);
    const response = await this.send(request);
    const { status, headers, body } = response;
    this.counts.set(status, (this.counts.get(status) ?? 0) + 1);
    if (status < 300 && !headers.has('Idempotent-Replayed')) this.record(request, id, response);
    const isShown = status === 200 && this.created.has(id);
    const names = Object.keys(this.contract.schemaOf(operation?.responses[status]).properties);
    const isRow = asObject(body)['id'] === id && this.isKept(id, asObject(body), names);
    const problem = body as ProblemBody;
    const faults = [
      ...(operation ? this.contract.faultsOfAnswer(operation, response) : this.faultsOfProblem(response)),
      ...(statuses.includes(status) || (isReused && status === 422) ? [] : [`${statuses.join(' or ')} was expected`]),
      ...(!isShown || isRow ? [] : [`It is not the row ${JSON.stringify(this.created.get(id))}`]),
      ...(status === 400 && locations ? faultsOfLocations(locations, problem) : []),
      ...(status >= 400 && problem.requestId !== headers.get('X-Request-Id') ? ['it has two request ids'] : []),
      ...(status >= 400 && LEAKS.test(JSON.stringify(body)) ? ['it shows what is inside'] : []),
    ];
    if (faults.length > 0) {
      const found = faults.map((fault) => JSON.stringify(fault)).join('\n');
      const { method, target, body: sent = '' } = request;
      const sentText = Buffer.from(sent).toString().slice(0, 1000);
      throw new Error(`The response to ${method} ${target} ${sentText}\nwas ${status} ${JSON.stringify(body)}\n${found}`);
    }
    return response;
  }

  /** Records the changes of a request. */
  private record({ method, target, body }: FuzzRequest, id: string, response: Answer<unknown>): void {
    const sent = () => JSON.parse(new TextDecoder().decode(Buffer.from(body ?? ''))) as object;
    if (method === 'POST' && target === this.here) {
      this.created.set((response.body as { id: string }).id, sent());
    } else if (method === 'PATCH') {
      this.created.set(id, { ...this.created.get(id), ...sent() });
    } else if (method === 'DELETE') {
      this.created.delete(id);
    }
  }

  private async send({ method, target, headers, body }: FuzzRequest): Promise<Answer<unknown>> {
    const { agent, port } = this;
    const length = body === undefined ? [] : [['Content-Length', String(Buffer.byteLength(body))]];
    const fields = [['Host', `127.0.0.1:${port}`], ...headers, ...length].flat();
    const outgoing = send({ host: '127.0.0.1', port, agent, method, path: target, headers: fields, timeout: HANG });
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

/** The values of a row or of its request bodies: times as times, UUIDs in lower case, none that is absent on any level. */
function asStored(values: object | undefined, properties: readonly (readonly [string, Partial<Property>])[]): unknown[] {
  const given = (values ?? {}) as Record<string, unknown>;
  const present = properties.filter(([name]) => (given[name] ?? null) !== null);
  return present.map(([name, { format }]) => {
    const value = format === 'date-time' ? new Date(given[name] as string) : given[name];
    const json = JSON.stringify(value, (_name, part: unknown) => part ?? undefined);
    return [name, JSON.parse(format === 'uuid' ? json.toLowerCase() : json) as unknown];
  });
}

/** Leaves invalid JSON as it is, to be checked against the document. */
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

/** A position also counts as reported if one below it is. */
function isAt(name: string, location: string): boolean {
  return name === location || (location.startsWith('/') && name.startsWith(`${location}/`));
}
