import { printTable } from '../print.ts';
import { processorTime } from '../processor-time.ts';
import { type Service, startService } from '../service.ts';
import { median } from '../statistics.ts';
import { startCollector } from './collector.ts';
import { load } from './wrk.ts';

/** Of load in each turn: as long as from one scrape to the next. */
const SECONDS = 1;
const WARM_UP = 4;
const ROUNDS = 16;

interface Contender {
  readonly name: string;
  readonly service: Service;
  readonly scrapes: boolean;
  /** Microseconds of processor time so far, at the beginning of each turn and after the last one, and the requests of each turn. */
  readonly times: number[];
  readonly requests: number[];
}

/** What the first page costs the service with metrics and traces that somebody takes. */
export async function measureTelemetry(url: string): Promise<void> {
  const collector = await startCollector();
  const traces = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  const ratio = { ...traces, OTEL_TRACES_SAMPLER: 'traceidratio' };
  const contenders: Contender[] = [];
  const start = async (name: string, variables: NodeJS.ProcessEnv, scrapes = false) => {
    contenders.push({ name, service: await startService(url, variables), scrapes, times: [], requests: [] });
  };
  try {
    await start('as shipped', {});
    await start('metrics scraped every second', {}, true);
    await start('traces, none of them sampled', { ...ratio, OTEL_TRACES_SAMPLER_ARG: '0' });
    await start('traces, one in 10', { ...ratio, OTEL_TRACES_SAMPLER_ARG: '0.1' });
    await start('traces, all', traces);
    for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
      for (const { service, scrapes, times, requests } of contenders) {
        times.push(processorTime([service.pid]));
        const [count] = await Promise.all([load(service, SECONDS), scrapes && service.metrics()]);
        requests.push(count);
      }
    }
    for (const { service, times } of contenders) times.push(processorTime([service.pid]));
    report(contenders);
    if (collector.received() === 0) {
      throw new Error('The collector was sent nothing.');
    }
  } finally {
    await Promise.all(contenders.map(({ service }) => service.stop()));
    collector.stop();
  }
}

function report(contenders: readonly Contender[]): void {
  const costs = contenders.map((contender) => costsOf(contender));
  const rows = costs.map((some, index) => {
    // Turns of the same round, as what else the machine does touches both alike.
    const ratios = some.map((cost, round) => cost / (costs[0]?.[round] ?? NaN));
    return [contenders[index]?.name ?? '', median(some).toFixed(0), median(ratios).toFixed(2)];
  });
  printTable(['first page', 'service µs', '× as shipped'], rows);
}

/** From the beginning of each turn to that of the next: spans are sent seconds after their requests. */
function costsOf({ times, requests }: Contender): number[] {
  const costs = requests.map((count, index) => ((times[index + 1] ?? NaN) - (times[index] ?? NaN)) / count);
  return costs.slice(WARM_UP);
}
