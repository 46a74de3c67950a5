import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

/** The inspector of another process, which was started with `--inspect`. */
export class Inspector {
  private readonly socket: WebSocket;
  private constructor(socket: WebSocket) {
    this.socket = socket;
  }

  static async connect(port: number): Promise<Inspector> {
    const targets = (await (await fetch(`http://127.0.0.1:${port}/json`)).json()) as { webSocketDebuggerUrl: string }[];
    const socket = new WebSocket(targets[0]?.webSocketDebuggerUrl ?? '');
    await once(socket, 'open');
    return new Inspector(socket);
  }

  /** Collects all garbage there, and lets the allocator give back what it freed. */
  async collectGarbage(): Promise<void> {
    for (let time = 0; time < 3; time += 1) {
      this.socket.send(JSON.stringify({ id: time, method: 'HeapProfiler.collectGarbage' }));
      await once(this.socket, 'message');
    }
    await delay(200);
  }

  close(): void {
    this.socket.close();
  }
}
