import { readdirSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { residentMemory } from '../../bench/processes.ts';
import type { Instance } from './servers/instance.ts';

const MB = 1024 * 1024;

/** What an instance holds while no client is connected. */
export interface Footprint {
  /** Megabytes. */
  readonly resident: number;
  /** Megabytes of the heap and of buffers, after a garbage collection. */
  readonly heap: number;
  /** Open descriptors by kind: `socket`, `pipe`, `/path`, … */
  readonly descriptors: ReadonlyMap<string, number>;
  /** Active handles, requests and timers by kind. */
  readonly resources: ReadonlyMap<string, number>;
  /** Metrics that are never 0. */
  readonly busy: readonly string[];
}

/** Metrics that are 0 without clients. */
const IDLE = ['items_http_connections', 'items_http_requests_in_flight', 'items_filters_running', 'items_filters_waiting'];

/** How often a metric is read until it is 0. */
const ATTEMPTS = 20;

/** How often resources are read: at a single moment, a probe or a timer that fires holds one that is not kept. */
const READINGS = 5;

/** How much more an instance may hold at the end than after its warm-up, and why. */
export const ALLOWANCES = {
  /** Megabytes: caches of tokens, plans and filters fill up, and the heap is as large as its largest load needed. */
  resident: 96,
  /** Megabytes: as many entries as the caches may have. */
  heap: 24,
  /** Connections to PostgreSQL are opened when they are needed: the rest of two pools of 10. */
  sockets: 20,
};

export async function footprintOf(instance: Instance): Promise<Footprint> {
  const { heap } = await instance.inside();
  return {
    resident: residentMemory(instance.program.pid).now / MB,
    heap: heap / MB,
    descriptors: countsOf(descriptorsOf(instance.program.pid)),
    resources: await keptResources(instance),
    busy: await busyMetrics(instance),
  };
}

/** Of each kind of resource, how many were there at every reading. */
async function keptResources(instance: Instance): Promise<Map<string, number>> {
  let kept = countsOf((await instance.inside()).resources);
  for (let reading = 1; reading < READINGS; reading += 1) {
    await delay(50);
    const counts = countsOf((await instance.inside()).resources);
    kept = new Map([...kept].map(([name, count]) => [name, Math.min(count, counts.get(name) ?? 0)]));
  }
  return kept;
}

/** Those of {@link IDLE} that are not 0 at any of some times: probes count, too. */
async function busyMetrics(instance: Instance): Promise<string[]> {
  let busy: readonly string[] = IDLE;
  for (let attempt = 0; attempt < ATTEMPTS && busy.length > 0; attempt += 1) {
    const values = await instance.metrics(busy);
    busy = busy.filter((_name, index) => values[index] !== 0);
    await delay(50);
  }
  return [...busy];
}

/** Name of an instance, and what it held after the warm-up and at the end. */
export type Comparison = readonly [name: string, before: Footprint, after: Footprint];

/** What an instance holds that it should not. */
export function excessOf([instance, before, after]: Comparison): string[] {
  const growth = (name: 'resident' | 'heap') => after[name] - before[name];
  const memory = (['resident', 'heap'] as const)
    .filter((name) => growth(name) > ALLOWANCES[name])
    .map((name) => `${name} memory grew by ${growth(name).toFixed(0)} MB, more than ${ALLOWANCES[name]}`);
  const more = (kind: 'descriptors' | 'resources') =>
    [...after[kind]]
      .map(([name, count]) => ({ name, count, was: before[kind].get(name) ?? 0 }))
      .filter(({ name, count, was }) => count > was + (/socket|TCPSocketWrap|Timeout/.test(name) ? ALLOWANCES.sockets : 0))
      .map(({ name, count, was }) => `${count} ${kind} of the kind ${name}, and ${was} after the warm-up`);
  const busy = after.busy.map((name) => `${name} is not 0 without clients`);
  const excess = [...memory, ...more('descriptors'), ...more('resources'), ...busy];
  return excess.map((text) => `${instance}: ${text}`);
}

export function textOf({ resident, heap, descriptors, resources }: Footprint): string[] {
  return [resident.toFixed(0), heap.toFixed(1), listOf(descriptors), listOf(resources)];
}

function listOf(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([name, count]) => `${name} ${count}`).join(', ');
}

function descriptorsOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((descriptor) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${descriptor}`).replace(/:\[\d+\]$/, '');
    } catch {
      return [];
    }
  });
}

function countsOf(names: readonly string[]): Map<string, number> {
  const groups = Map.groupBy(names.toSorted(), (name) => name);
  return new Map([...groups].map(([name, { length }]) => [name, length]));
}
