import { once } from 'node:events';
import type { Profiler } from 'node:inspector';

/** Samples of the stack of a process, as the inspector gives them. */
export type Profile = Profiler.Profile;

/** Microseconds between two samples. */
const INTERVAL = 250;

/**
 * Takes a profile of another process while something is done.
 *
 * @param port - of its inspector on this machine
 */
export async function profileDuring<T>(port: number, work: () => Promise<T>): Promise<{ profile: Profile; result: T }> {
  const response = await fetch(`http://127.0.0.1:${port}/json/list`);
  const [target] = (await response.json()) as { readonly webSocketDebuggerUrl: string }[];
  const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '');
  await once(socket, 'open');
  // One call at a time; no domain that sends events is used.
  const call = async (method: string, params: object = {}) => {
    socket.send(JSON.stringify({ id: 1, method, params }));
    const [{ data }] = (await once(socket, 'message')) as [{ readonly data: unknown }];
    return (JSON.parse(String(data)) as { readonly result: unknown }).result;
  };
  await call('Profiler.enable');
  await call('Profiler.setSamplingInterval', { interval: INTERVAL });
  await call('Profiler.start');
  const result = await work();
  const { profile } = (await call('Profiler.stop')) as { readonly profile: Profile };
  socket.close();
  return { profile, result };
}
