import type { CallReceiver } from './admitted-calls.js';
import type { WindowState } from './sliding-window.js';

/** What a call found in the shared window, and did. */
export interface SharedState extends WindowState {
  /** When that was, by the clock of the shared window. */
  stamp: number;
  /** How long ago the latest counted call was made, in milliseconds. */
  latest: number;
}

/** The window that all replicas count in, behind a connection that may break or fall silent at any time. */
export interface SharedWindow extends CallReceiver {
  /** Counts one call, if there is room for it. */
  hit(key: string): Promise<SharedState>;
  /** Tries whether calls with that key could be counted. */
  probe(key: string): Promise<void>;
  /** Calls back once when the connection breaks. */
  onBreak(callback: () => void): void;
  /** Gives up the connection; whoever waits for an answer is told so. */
  close(): void;
}
