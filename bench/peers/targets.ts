import { print } from '../print.ts';
import type { Figures, Summary } from './summary.ts';

/** Something that the service shall reach: at least so much, or less than that. */
interface Target {
  readonly name: string;
  readonly value: number | undefined;
  readonly least?: number;
  readonly most?: number;
}

const READS = ['first page', 'page of 100', 'deep page', 'filtered page'];

/** Tells which targets the service meets, of those whose figures there are. */
export function printTargets(summary: Summary): void {
  for (const { name, value, least = -Infinity, most = Infinity } of targetsOf(summary)) {
    if (value !== undefined) {
      const bound = Number.isFinite(least) ? `at least ${least}` : `at most ${most}`;
      print(`${value >= least && value <= most ? 'met' : 'NOT met'}: ${name}: ${value.toFixed(2)}, ${bound}`);
    }
  }
}

function targetsOf({ workloads, servers, accessLog }: Summary): Target[] {
  const ours = (workload: string): Figures | undefined => workloads[workload]?.['ours'];
  const processor = (workload: string, least: number): Target => ({
    name: `${workload}, CPU × base`,
    value: ours(workload)?.toBase?.processor,
    least,
  });
  const overTextbook = (workload: string, least: number): Target => ({
    name: `${workload}, CPU × textbook`,
    value: ours(workload)?.toTextbook?.processor,
    least,
  });
  const { memory, start } = servers['ours'] ?? {};
  return [
    processor('first page', 1.1),
    processor('page of 100', 1.4),
    processor('deep page', 1.1),
    processor('create', 0.75),
    { name: 'create, throughput × base', value: ours('create')?.toBase?.throughput, least: 0.95 },
    processor('401', 0.45),
    processor('429', 0.37),
    ...READS.map((workload) => overTextbook(workload, 4.5)),
    overTextbook('create', 5),
    { name: 'access log, µs', value: accessLog, most: 12 },
    { name: 'memory under load, MB', value: memory && memory / 2 ** 20, most: 220 },
    { name: 'start, ms', value: start, most: 400 },
  ];
}
