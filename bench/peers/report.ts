import { printTable } from '../print.ts';
import { type Figures, inOrder, type Ratios, type Summary } from './summary.ts';

const MEGABYTE = 2 ** 20;

export function printSummary({ workloads, servers }: Summary): void {
  for (const [workload, byServer] of inOrder(workloads)) {
    printTable(
      [
        workload,
        'requests/s',
        'p50 ms',
        'p99 ms',
        'CPU µs',
        'CPU × base',
        'throughput × base',
        'CPU × textbook',
        'throughput × textbook',
      ],
      Object.entries(byServer).map(([server, figures]) => [server].concat(cells(figures))),
    );
  }
  printTable(
    ['server', 'start ms', 'memory MB', 'most memory MB'],
    Object.entries(servers).map(([server, { start, memory, peak }]) => [
      server,
      start.toFixed(0),
      (memory / MEGABYTE).toFixed(0),
      (peak / MEGABYTE).toFixed(0),
    ]),
  );
}

function cells({ throughput, p50, p99, processor, toBase, toTextbook }: Figures): string[] {
  return [
    throughput.toFixed(0),
    (p50 / 1000).toFixed(2),
    (p99 / 1000).toFixed(2),
    processor.toFixed(0),
    ...ratioCells(toBase),
    ...ratioCells(toTextbook),
  ];
}

function ratioCells(ratios: Ratios | undefined): string[] {
  return ratios ? [ratios.processor.toFixed(2), ratios.throughput.toFixed(2)] : ['', ''];
}
