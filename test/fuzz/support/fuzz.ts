import * as fc from 'fast-check';
import type { Answer, ProblemBody } from '../../support/api.js';
import type { Contract } from '../../support/contract.js';
import type { Attempt, FuzzRequest } from './fuzz-request.js';
import { Ledger } from './ledger.js';
import { settings } from './settings.js';
import type { Wire } from './wire.js';

/** Attempts that are made at a time. */
const LANES = 4;

const PROBLEM = { schema: { $ref: '#/components/schemas/Problem' } };

/** Makes attempts, and judges what comes back by the document. */
export class Fuzz {
  readonly ledger = new Ledger();
  /** Answers so far, by status. */
  readonly answers = new Map<number, number>();
  private series = 0;

  constructor(
    private readonly contract: Contract,
    private readonly wire: Wire,
    private readonly token: string,
  ) {}

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
      const property = fc.asyncProperty(values, act);
      // Others for each series, so that the same values do not come back in all of them.
      const details = await fc.check(property, {
        numRuns: Math.ceil(count / lanes),
        ...(path === undefined ? { seed: seed + 1000 * series + lane } : { seed, path, endOnFailure: true }),
      });
      if (details.failed) {
        const replay = `FUZZ_SEED=${details.seed} FUZZ_PATH=${details.counterexamplePath} npm test -- test/fuzz -t '${expect.getState().currentTestName}'`;
        const reason = Error.isError(details.errorInstance) ? details.errorInstance.message : String(details.errorInstance);
        throw new Error(
          `${reason}\n\nAfter ${details.numRuns} attempts, made smaller ${details.numShrinks} times. Again: ${replay}`,
        );
      }
    });
    const failure = (await Promise.allSettled(runs)).find((run) => run.status === 'rejected');
    if (failure) {
      throw failure.reason;
    }
  }

  /** @throws Error when the answer is not what the document says, or what was expected */
  async judge({ request, expected, operation }: Attempt): Promise<Answer<unknown>> {
    const sent = request.hasOwnCredentials
      ? request
      : { ...request, headers: [['Authorization', `Bearer ${this.token}`] as const, ...request.headers] };
    this.ledger.note(sent);
    const answer = await this.wire.send(sent);
    this.ledger.add(sent, answer);
    const { status } = answer;
    this.answers.set(status, (this.answers.get(status) ?? 0) + 1);
    const faults = [
      ...(operation ? this.contract.faultsOfAnswer(operation.operation, answer) : this.faultsOfProblem(answer)),
      ...(this.isExpected(expected.statuses, status, sent) ? [] : [`${expected.statuses.join(' or ')} was expected`]),
      ...(status === 400 && expected.names ? faultsOfNames(expected.names, answer.body as ProblemBody) : []),
      ...(status >= 400 && (answer.body as ProblemBody).requestId !== answer.headers.get('X-Request-Id')
        ? ['it has two request ids']
        : []),
    ];
    if (faults.length > 0) {
      throw new Error(
        `${describe(request)}\nwas answered ${status} ${JSON.stringify(answer.body)}\n${faults.map((fault) => JSON.stringify(fault)).join('\n')}`,
      );
    }
    return answer;
  }

  private isExpected(statuses: readonly number[], status: number, request: FuzzRequest): boolean {
    return statuses.includes(status) || (status === 422 && statuses.includes(201) && this.ledger.isReused(request));
  }

  /** Of an answer that belongs to no operation. */
  private faultsOfProblem({ status, headers, body }: Answer<unknown>): unknown[] {
    const mediaType = headers.get('Content-Type') ?? '';
    return [
      ...(mediaType.startsWith('application/problem+json') ? [] : [`It is ${mediaType}`]),
      ...(status === 405 && headers.get('Allow') === null ? ['It lacks Allow'] : []),
      ...this.contract.faultsOf(PROBLEM, body),
    ];
  }
}

/** A place counts as named by what is below it. */
function faultsOfNames(expected: readonly string[], { errors = [] }: ProblemBody): unknown[] {
  const named = errors.map(({ pointer, parameter }) => pointer ?? parameter ?? '');
  const isNamed = (place: string) =>
    named.some((name) => name === place || (place.startsWith('/') && name.startsWith(`${place}/`)));
  const isMeant = (name: string) =>
    expected.some((place) => name === place || (place.startsWith('/') && name.startsWith(`${place}/`)));
  return expected.every(isNamed) && named.every(isMeant)
    ? []
    : [`It should name ${expected.join()}, and names ${named.join() || 'nothing'}`];
}

function describe({ method, target, headers, body = '' }: FuzzRequest): string {
  const text = typeof body === 'string' ? body : `bytes ${Buffer.from(body).toString('hex')}`;
  const shown = text.length > 2000 ? `${text.slice(0, 2000)}… (${text.length} units)` : text;
  return [`${method} ${target}`, ...headers.map((pair) => pair.join(': ')), '', shown].join('\n');
}
