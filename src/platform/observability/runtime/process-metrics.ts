import { readdir, readFile } from 'node:fs/promises';
import type { Metrics } from '../metrics.js';

const MICROSECONDS = 1e6;

/** What the process takes of the machine beside memory. */
export function addProcessMetrics(metrics: Metrics): void {
  metrics.observedCounter(
    { name: 'process_cpu_user_seconds_total', help: 'Processor time for its own code' },
    () => process.cpuUsage().user / MICROSECONDS,
  );
  metrics.observedCounter(
    { name: 'process_cpu_system_seconds_total', help: 'Processor time in the kernel' },
    () => process.cpuUsage().system / MICROSECONDS,
  );
  metrics.observedCounter({ name: 'process_cpu_seconds_total', help: 'Processor time in all' }, () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / MICROSECONDS;
  });
  const start = Date.now() / 1000 - process.uptime();
  metrics.gauge({ name: 'process_start_time_seconds', help: 'When the process started, in seconds since 1970' }, () => start);
  metrics.gauge({ name: 'process_open_fds', help: 'Files and connections that it has open' }, openFiles);
  metrics.gauge({ name: 'process_max_fds', help: 'How many it may have open' }, mostOpenFiles);
  metrics.gauge(
    { name: 'nodejs_active_resources', help: 'Connections, timers and the like that keep the process running' },
    () => process.getActiveResourcesInfo().length,
  );
}

/** Linux alone tells; the listing is one of them. */
async function openFiles(): Promise<number | undefined> {
  const names = await readdir('/proc/self/fd').catch(() => undefined);
  return names && names.length - 1;
}

async function mostOpenFiles(): Promise<number | undefined> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  const [, soft] = /^Max open files +(\d+)/m.exec(limits) ?? [];
  return soft === undefined ? undefined : Number(soft);
}
