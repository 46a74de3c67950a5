import { setInterval } from 'node:timers/promises';
import { eventually } from '../support/eventually.ts';
import { type Environment, Instance } from './servers/instance.ts';

/** Milliseconds between two checks of `/readyz`; within `SHUTDOWN_DELAY`, 5 seconds by default, there are several. */
const INTERVAL = 200;

/** The instances of the service, with what a load balancer knows of them. */
export class Fleet {
  readonly instances: Instance[] = [];
  /** Exit codes and whatever else was wrong with instances. */
  readonly faults: string[] = [];
  /** All that ran at any time. */
  readonly all: Instance[] = [];
  private readonly ready = new Set<Instance>();
  private readonly environment: Environment;
  private readonly logs: string | undefined;
  private readonly checking = new AbortController();
  private started = 0;
  private turn = 0;

  private constructor(environment: Environment, logs: string | undefined) {
    this.environment = environment;
    this.logs = logs;
  }

  /** @param logs - directory for the logs of all instances */
  static async start(size: number, environment: Environment, logs?: string): Promise<Fleet> {
    const fleet = new Fleet(environment, logs);
    await Promise.all(Array.from({ length: size }, () => fleet.add()));
    return fleet;
  }

  /** The next instance that is ready; if none is, any. */
  next(): Instance {
    const { instances } = this;
    const candidates = instances.filter((instance) => this.ready.has(instance));
    const choice = candidates.length > 0 ? candidates : instances;
    const next = choice[(this.turn += 1) % choice.length];
    if (!next) throw new Error('There is no instance.');
    return next;
  }

  /** Starts another instance, and waits until clients use it. */
  async add(): Promise<Instance> {
    const instance = await Instance.start(`instance-${(this.started += 1)}`, this.environment, this.logs);
    this.instances.push(instance);
    this.all.push(instance);
    void this.watch(instance).catch(() => undefined);
    await eventually(() => this.ready.has(instance));
    return instance;
  }

  /** Replaces an instance as Kubernetes does with `maxSurge: 1`: the next one is in use before this one gets its signal. */
  async replace(instance: Instance): Promise<Instance> {
    const next = await this.add();
    const code = await instance.program.end('SIGTERM');
    if (code !== 0) this.faults.push(`${instance.name} ended with ${code} after SIGTERM`);
    this.remove(instance);
    return next;
  }

  /** `kill -9`, noticed by clients at their next check. */
  async kill(instance: Instance): Promise<void> {
    await instance.program.end('SIGKILL');
    await eventually(() => !this.ready.has(instance));
    this.remove(instance);
  }

  /** Ends all instances as an operator does. */
  async stop(): Promise<void> {
    const codes = await Promise.all(this.instances.map((instance) => instance.program.end('SIGTERM')));
    if (codes.some((code) => code !== 0)) this.faults.push(`the exit codes at the end are ${codes.join(', ')}`);
    this.checking.abort();
  }

  private remove(instance: Instance): void {
    this.ready.delete(instance);
    this.instances.splice(this.instances.indexOf(instance), 1);
  }

  private async watch(instance: Instance): Promise<void> {
    const { signal } = this.checking;
    for await (const _ of setInterval(INTERVAL, undefined, { signal })) {
      if (!this.instances.includes(instance)) return;
      const isReady = await instance.isReady().catch(isUnknown);
      if (isReady === true) this.ready.add(instance);
      else if (isReady === false) this.ready.delete(instance);
    }
  }
}

/** On a busy machine a check may be slow: only a wrong response or none says that an instance is not ready. */
function isUnknown(error: unknown): false | undefined {
  return Error.isError(error) && error.name === 'TimeoutError' ? undefined : false;
}
