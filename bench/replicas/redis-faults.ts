import { setTimeout as delay } from 'node:timers/promises';
import { print, printTable } from '../print.ts';
import { type Answer, type Service, startService } from '../service.ts';
import { median, quantile } from '../statistics.ts';
import type { RedisServer } from './redis.ts';

/** Requests in a second, sent whether or not those before are answered. */
const RATE = 200;

/** Length of each phase in milliseconds: long enough for p99 to see the first requests after the fault. */
const PHASE = 4000;

/** How much p99 may grow while Redis is away, in milliseconds, and how soon after its return it is used again. */
const PROMISES = { added: 60, back: 2000 };

interface Phase {
  readonly name: string;
  readonly answers: readonly Answer[];
  /** Milliseconds from the return of Redis until it was used again. */
  readonly back?: number;
}

/**
 * Takes Redis away from a service under load, by killing and by pausing it, and gives it back.
 *
 * @returns whether every promise was kept
 */
export async function measureRedisFaults(url: string, redis: RedisServer): Promise<boolean> {
  const service = await startService(url, { REDIS_URL: redis.url }, RATE);
  const phases: Phase[] = [];
  const run = async (name: string, fault?: () => void, mend?: () => Promise<void> | void) => {
    const answers = load(service, PHASE);
    await delay(PHASE / 8);
    fault?.();
    phases.push({ name, answers: await answers, ...(mend && { back: await timeBack(service, mend) }) });
  };
  try {
    await load(service, PHASE);
    await run('with Redis');
    await run(
      'Redis killed',
      () => redis.signal('SIGKILL'),
      () => redis.restart(),
    );
    await run('with Redis again');
    await run(
      'Redis paused',
      () => redis.signal('SIGSTOP'),
      () => redis.signal('SIGCONT'),
    );
    await run('with Redis again');
  } finally {
    await service.stop();
  }
  return report(phases);
}

async function load(service: Service, length: number): Promise<Answer[]> {
  const answers: Promise<Answer>[] = [];
  const start = performance.now();
  for (let sent = 0; sent < (length / 1000) * RATE; sent += 1) {
    await delay(Math.max(0, start + (sent * 1000) / RATE - performance.now()));
    answers.push(service.list('limit=1'));
  }
  return Promise.all(answers);
}

async function timeBack(service: Service, mend: () => Promise<void> | void): Promise<number> {
  await mend();
  const start = performance.now();
  while (!/^items_rate_limit_shared 1$/m.test(await service.metrics())) {
    await delay(5);
  }
  return performance.now() - start;
}

function report(phases: readonly Phase[]): boolean {
  const timesOf = ({ answers }: Phase) => answers.map(({ milliseconds }) => milliseconds);
  const [usual] = phases.map((phase) => quantile(timesOf(phase), 0.99));
  let allKept = true;
  const promise = (kept: boolean, text: string) => {
    print(`${kept ? 'kept' : 'NOT kept'}: ${text}`);
    allKept &&= kept;
  };
  const rows = phases.map((phase) => {
    const times = timesOf(phase);
    const failed = phase.answers.filter(({ status }) => status !== 200).length;
    return [
      phase.name,
      String(times.length),
      String(failed),
      median(times).toFixed(2),
      quantile(times, 0.99).toFixed(2),
      Math.max(...times).toFixed(2),
      phase.back === undefined ? '' : (phase.back / 1000).toFixed(2),
    ];
  });
  printTable([`${RATE} requests a second`, 'requests', 'not 200', 'median ms', 'p99 ms', 'most ms', 'back after s'], rows);
  for (const phase of phases) {
    const added = quantile(timesOf(phase), 0.99) - (usual ?? 0);
    promise(added < PROMISES.added, `${phase.name}: p99 grows by less than ${PROMISES.added} ms (${added.toFixed(2)})`);
    promise(
      phase.answers.every(({ status }) => status === 200),
      `${phase.name}: every request is answered 200`,
    );
    if (phase.back !== undefined) {
      promise(phase.back < PROMISES.back, `${phase.name}: used again within ${PROMISES.back / 1000} s`);
    }
  }
  return allKept;
}
