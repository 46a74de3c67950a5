import { printPromise, printTable } from '../report.ts';
import { inOrder, type Summary } from './summary.ts';

const MEBIBYTE = 2 ** 20;

/** The least CPU time of the base, and of the textbook, in ratio to that of the service, by the workload. */
const FLOORS: Readonly<Record<string, Floors | undefined>> = {
  mixed: { toBase: 0.85, throughput: 0.9, toTextbook: 4 },
  'mixed, a fifth of capacity': { toBase: 0.85, p99: 2 },
  'mixed, half of capacity': { toBase: 0.85, p99: 2 },
  'first page, a fifth of capacity': { toBase: 0.85, p99: 2 },
  'first page, half of capacity': { toBase: 0.85, p99: 2 },
  'first page': { toBase: 1, toTextbook: 4 },
  'page of 100': { toBase: 1.6, toTextbook: 4 },
  'deep page': { toBase: 1, toTextbook: 4 },
  'filtered page, rare': { toBase: 0.75, toTextbook: 2.5, postgresql: 1.3 },
  'filtered page, common': { toBase: 0.75, toTextbook: 2.5, postgresql: 1.3 },
  'filtered page, new words': { toBase: 0.6, postgresql: 1.3 },
  create: { toBase: 0.75, toTextbook: 4 },
  'first page, unknown tokens': { toBase: 0.8 },
  '401': { toBase: 0.4 },
  '429': { toBase: 0.4 },
};

interface Floors {
  readonly toBase: number;
  readonly toTextbook?: number;
  readonly throughput?: number;
  /** The longest latency of 99 of 100 requests, in ratio to the base's. */
  readonly p99?: number;
  /** The most time in PostgreSQL, in ratio to the base's. */
  readonly postgresql?: number;
}

/** What a create with a key may cost, in ratio to one without. */
const MOST_KEYED = { processor: 2.2, postgresql: 4 };

/** Megabytes under load, milliseconds from the start to the first response, and CPU time after a change ÷ when settled. */
const MOST = { memory: 256, start: 300, afterChange: 1.3 };

export function printSummary({ workloads, servers }: Summary): void {
  const times = ['requests/s', 'p50 ms', 'p99 ms', 'CPU µs', 'PostgreSQL µs'];
  const ratios = [
    'CPU × base',
    'throughput × base',
    'p99 ÷ base',
    'PostgreSQL ÷ base',
    'CPU × textbook',
    'throughput × textbook',
  ];
  for (const [workload, byServer] of inOrder(workloads)) {
    const rows = Object.entries(byServer).map(
      ([server, { throughput, p50, p99, processor, postgresql, toBase, toTextbook }]) => {
        const comparedToBase = [toBase?.processor, toBase?.throughput, toBase?.p99, toBase?.postgresql];
        const compared = [...comparedToBase, toTextbook?.processor, toTextbook?.throughput];
        const latencies = [p50, p99].map((time) => (time / 1000).toFixed(2));
        const whole = [processor, postgresql].map((time) => time.toFixed(0));
        const fractions = compared.map((ratio) => ratio?.toFixed(2) ?? '');
        return [server, throughput.toFixed(0)].concat(latencies, whole, fractions);
      },
    );
    printTable([workload, ...times, ...ratios], rows);
  }
  const rows = Object.entries(servers).map(([server, { start, memory, peak, settling }]) => {
    const figures = [start, memory / MEBIBYTE, peak / MEBIBYTE, settling?.seconds ?? NaN].map((figure) => figure.toFixed(0));
    return [server].concat(figures, settling?.afterChange.toFixed(2) ?? '');
  });
  printTable(['server', 'start ms', 'memory MiB', 'most memory MiB', 'settled after s', 'after creates ÷ settled'], rows);
}

/** Prints which floors the service keeps, of those that were measured. */
export function printFloors({ workloads, servers }: Summary): void {
  for (const [workload, { ours }] of inOrder(workloads)) {
    const { toBase, toTextbook, throughput, p99, postgresql } = FLOORS[workload] ?? {};
    printFloor(`${workload}, CPU × base`, ours?.toBase?.processor, toBase);
    printFloor(`${workload}, CPU × textbook`, ours?.toTextbook?.processor, toTextbook);
    printFloor(`${workload}, throughput × base`, ours?.toBase?.throughput, throughput);
    printCeiling(`${workload}, PostgreSQL ÷ base`, ours?.toBase?.postgresql, postgresql);
    printCeiling(`${workload}, p99 ÷ base`, ours?.toBase?.p99, p99);
  }
  printKeyed(workloads);
  const { ours } = servers;
  if (ours) {
    const memory = ours.memory / MEBIBYTE;
    printPromise(`memory under load: ${memory.toFixed(0)} MiB, at most ${MOST.memory}`, memory <= MOST.memory);
    printCeiling('first page after creates ÷ settled', ours.settling?.afterChange, MOST.afterChange);
    printPromise(`start: ${ours.start.toFixed(0)} ms, at most ${MOST.start}`, ours.start <= MOST.start);
  }
}

function printKeyed({ create, 'create with a key': keyed }: Summary['workloads']): void {
  const [plain, own] = [create?.['ours'], keyed?.['ours']];
  for (const kind of ['processor', 'postgresql'] as const) {
    const ratio = plain && own && own[kind] / plain[kind];
    if (ratio !== undefined) {
      const most = MOST_KEYED[kind];
      printPromise(`create with a key, ${kind} ÷ create: ${ratio.toFixed(2)}, at most ${most}`, ratio <= most);
    }
  }
}

function printFloor(name: string, value: number | undefined, floor: number | undefined): void {
  if (value !== undefined && floor !== undefined) {
    printPromise(`${name}: ${value.toFixed(2)}, at least ${floor}`, value >= floor);
  }
}

function printCeiling(name: string, value: number | undefined, ceiling: number | undefined): void {
  if (value !== undefined && ceiling !== undefined) {
    printPromise(`${name}: ${value.toFixed(2)}, at most ${ceiling}`, value <= ceiling);
  }
}
