import type { Client } from 'pg';
import { encodeCursor } from '#service/platform/lists/cursor';
import type { Case } from './cases.ts';
import { keyAtDepth } from './database.ts';
import type { Answer, Service } from '../service.ts';
import { shuffle } from '../statistics.ts';

/** Requests for each case that are not counted, and that are. */
const WARM_UP = 100;
const COUNTED = 400;

/** Milliseconds from which a case is slow: it is measured after the others, which would be slower in its wake. */
const SLOW = 10;
const COUNTED_IF_SLOW = 20;

/** What came of a case. */
export interface Run extends Case {
  /** Items on the page, or why there is none. */
  readonly outcome: string;
  /** Milliseconds of each request. */
  readonly times: number[];
}

interface Prepared extends Run {
  readonly search: string;
}

/** Measures all cases over HTTP. */
export async function measure(cases: readonly Case[], service: Service, client: Client): Promise<Run[]> {
  const [runs, quick, slow]: [Prepared[], Prepared[], Prepared[]] = [[], [], []];
  for (const measured of cases) {
    const search = await searchOf(measured, client);
    // The quickest of three shows which kind it is: any single one may have to wait for something else.
    const answers = [await service.list(search), await service.list(search), await service.list(search)] as const;
    const run = { ...measured, search, outcome: outcomeOf(answers[0], measured), times: [] };
    runs.push(run);
    (Math.min(...answers.map(({ milliseconds }) => milliseconds)) > SLOW ? slow : quick).push(run);
  }
  await repeat(quick, WARM_UP + COUNTED, service);
  quick.forEach(({ times }) => times.splice(0, WARM_UP));
  await repeat(slow, COUNTED_IF_SLOW, service);
  return runs;
}

/** In turns, so that what else the machine does touches all alike, and in another order each time, for the same reason. */
async function repeat(runs: readonly Prepared[], rounds: number, service: Service): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    for (const run of shuffle(runs)) {
      const answer = await service.list(run.search);
      if (outcomeOf(answer, run) !== run.outcome) {
        throw new Error(`${run.name} had another outcome this time: ${outcomeOf(answer, run)}.`);
      }
      run.times.push(answer.milliseconds);
    }
  }
}

async function searchOf({ filter, depth }: Case, client: Client): Promise<string> {
  const cursor = depth === undefined ? undefined : encodeCursor(await keyAtDepth(client, depth), filter ?? '');
  return new URLSearchParams({ ...(filter !== undefined && { filter }), ...(cursor !== undefined && { cursor }) }).toString();
}

function outcomeOf({ status, body: { items, errors } }: Answer, { name }: Case): string {
  if (items) {
    return String(items.length);
  }
  // Any other refusal is a mistake of the case.
  if (status !== 400 || !errors?.[0]?.detail.startsWith('takes longer than')) {
    throw new Error(`${name} was answered ${status}: ${JSON.stringify(errors)}`);
  }
  return '400, FILTER_TIMEOUT';
}
