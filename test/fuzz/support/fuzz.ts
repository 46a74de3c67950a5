import { Agent, request as send } from 'node:http';
import * as fc from 'fast-check';
import { answerTo, HANG } from '../../support/http-client.js';
import type { Answer, ProblemBody } from '../../support/api.js';
import type { Contract } from '../../support/contract.js';
import type { Attempt, FuzzRequest } from './requests.js';

const { FUZZ_REQUESTS = '5000', FUZZ_SEED = '20260101', FUZZ_PATH } = process.env;

/** How a run is made. The seed is the same in every run, so that what fails was changed and not met by chance. */
export const settings = {
  /** Requests for the committed document, at least. */
  requests: Number(FUZZ_REQUESTS),
  seed: Number(FUZZ_SEED),
  /** Leads fast-check straight to one failure, in the test that is named with `-t`. */
  path: FUZZ_PATH,
};

const LANES = 4;

const PROBLEM = { schema: { $ref: '#/components/schemas/Problem' } };
const KEY = 'Idempotency-Key';

/** Makes attempts, and judges what comes back by the document. */
export class Fuzz {
  /** The body of each request that was answered 201, by the id that it got. */
  readonly created = new Map<string, object>();
  readonly counts = new Map<number, number>();
  private readonly keys = new Map<string, number>();
  private readonly agent = new Agent({ keepAlive: true });
  private series = 0;

  constructor(
    private readonly contract: Contract,
    private readonly port: number,
    private readonly token: string,
  ) {}

  stop(): void {
    this.agent.destroy();
  }

  /**
   * Makes at least so many attempts of one kind, several at a time.
   *
   * @throws Error for the first one that fails, made as small as it still fails, with how to repeat it
   */
  async attempt(attempts: fc.Arbitrary<Attempt>, count: number): Promise<void> {
    await this.each(attempts, count, async (attempt) => void (await this.judge(attempt)));
  }

  /** The same with something that takes several requests. */
  async each<T>(values: fc.Arbitrary<T>, count: number, act: (value: T) => Promise<void>): Promise<void> {
    const { seed, path } = settings;
    const lanes = path === undefined ? LANES : 1;
    this.series += 1;
    const { series } = this;
    const runs = Array.from({ length: lanes }, async (_, lane) => {
      // Others for each series, so that the same values do not come back in all of them.
      const details = await fc.check(fc.asyncProperty(values, act), {
        numRuns: Math.ceil(count / lanes),
        ...(path === undefined ? { seed: seed + 1000 * series + lane } : { seed, path, endOnFailure: true }),
      });
      if (details.failed) {
        const replay = `FUZZ_SEED=${details.seed} FUZZ_PATH=${details.counterexamplePath} npm test -- test/fuzz -t '${expect.getState().currentTestName}'`;
        const reason = Error.isError(details.errorInstance) ? details.errorInstance.message : String(details.errorInstance);
        throw new Error(`${reason}\n\nAfter ${details.numRuns} attempts, ${details.numShrinks} times smaller. Again: ${replay}`);
      }
    });
    const failure = (await Promise.allSettled(runs)).find((run) => run.status === 'rejected');
    if (failure) {
      throw failure.reason;
    }
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
    ];
    if (faults.length > 0) {
      const found = faults.map((fault) => JSON.stringify(fault)).join('\n');
      throw new Error(`${describe(request)}\nwas answered ${status} ${JSON.stringify(body)}\n${found}`);
    }
    return response;
  }

  /** @throws Error when there is no whole response: refused, reset, or silent for {@link HANG} */
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
    const received = new Headers();
    for (const [name, values] of Object.entries(response.headersDistinct)) {
      values?.forEach((value) => received.append(name, value));
    }
    return { status: response.statusCode ?? 0, headers: received, body: parse(text) };
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

function describe({ method, target, headers, body = '' }: FuzzRequest): string {
  const text = typeof body === 'string' ? body : `bytes ${Buffer.from(body).toString('hex')}`;
  const shown = text.length > 2000 ? `${text.slice(0, 2000)}… (${text.length} units)` : text;
  return [`${method} ${target}`, ...headers.map((pair) => pair.join(': ')), '', shown].join('\n');
}
