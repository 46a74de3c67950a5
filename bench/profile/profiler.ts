import { once } from 'node:events';
import type { Profiler as Protocol } from 'node:inspector';

/** Samples of the stack of a process, as the inspector gives them. */
export type Profile = Protocol.Profile;

/** Microseconds between two samples. */
const INTERVAL = 250;

/** Takes a profile of another process, through its inspector. */
export class Profiler {
  private readonly socket: WebSocket;
  private last = 0;

  private constructor(socket: WebSocket) {
    this.socket = socket;
  }

  /** @param port - of the inspector on this machine */
  static async attach(port: number): Promise<Profiler> {
    const response = await fetch(`http://127.0.0.1:${port}/json/list`);
    const [target] = (await response.json()) as { readonly webSocketDebuggerUrl: string }[];
    const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '');
    await once(socket, 'open');
    return new Profiler(socket);
  }

  async start(): Promise<void> {
    await this.call('Profiler.enable');
    await this.call('Profiler.setSamplingInterval', { interval: INTERVAL });
    await this.call('Profiler.start');
  }

  async stop(): Promise<Profile> {
    const { profile } = (await this.call('Profiler.stop')) as { readonly profile: Profile };
    this.socket.close();
    return profile;
  }

  private call(method: string, parameters: object = {}): Promise<unknown> {
    const id = (this.last += 1);
    this.socket.send(JSON.stringify({ id, method, params: parameters }));
    return new Promise((resolve) => {
      const listen = ({ data }: MessageEvent) => {
        const message = JSON.parse(String(data)) as { readonly id?: number; readonly result?: unknown };
        if (message.id === id) {
          this.socket.removeEventListener('message', listen);
          resolve(message.result);
        }
      };
      this.socket.addEventListener('message', listen);
    });
  }
}
