import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import type { Metrics } from '../metrics.js';

/** How much memory the process takes, and how much it may. */
export function addMemoryMetrics(metrics: Metrics): void {
  const gauges: readonly [name: string, help: string, read: () => number][] = [
    ['process_resident_memory_bytes', 'Memory that the process has', () => process.memoryUsage.rss()],
    ['items_memory_limit_bytes', "Memory that it may have: the container's limit, or all of the machine", memoryLimit],
    ['nodejs_heap_size_total_bytes', 'Size of the JavaScript heap', () => getHeapStatistics().total_heap_size],
    ['nodejs_heap_size_used_bytes', 'What is in use of it', () => getHeapStatistics().used_heap_size],
    [
      'nodejs_heap_size_limit_bytes',
      'Size at which the process ends for lack of memory',
      () => getHeapStatistics().heap_size_limit,
    ],
    ['nodejs_external_memory_bytes', 'Memory outside the heap that its objects hold', () => process.memoryUsage().external],
  ];
  for (const [name, help, read] of gauges) {
    metrics.gauge({ name, help }, read);
  }
}

/** Without a limit, Node gives 0 or a number beyond all memory. */
function memoryLimit(): number {
  const limit = process.constrainedMemory();
  return limit > 0 && limit < totalmem() ? limit : totalmem();
}
