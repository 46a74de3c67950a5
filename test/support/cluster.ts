import { Haproxy } from './haproxy.js';
import { HttpClient } from './http-client.js';
import { freePort } from './free-port.js';
import { ServiceProcess } from './process.js';

/** Replicas of the service behind a load balancer. */
export class Cluster {
  private constructor(
    readonly processes: readonly ServiceProcess[],
    readonly balancer: Haproxy,
  ) {}

  /** @param environment - of each, with a database that has its migrations */
  static async start(size: number, environment: NodeJS.ProcessEnv): Promise<Cluster> {
    const ports: number[] = [];
    while (ports.length < size) ports.push(await freePort());
    const processes = await Promise.all(ports.map((port) => ServiceProcess.startReady({ ...environment, PORT: String(port) })));
    return new Cluster(processes, await Haproxy.start(ports));
  }

  client(token: string, keepAlive = true): HttpClient {
    return new HttpClient(this.balancer.origin, token, keepAlive);
  }

  /** Ends every process as an operator does. @returns their exit codes */
  stop(): Promise<(number | null)[]> {
    return Promise.all(this.processes.map((process) => process.end('SIGTERM')));
  }
}
