import type { Pool } from 'pg';
import type { DataSource } from 'typeorm';
import { borrow, Lane, poolOf, type Statement } from './lane.js';

/** How many reads may wait on one lane before there is a second. */
const ENOUGH_FOR_TWO = 4;

/** How many may wait on each before there is one more: that many wait only where the database is slow. */
const ENOUGH_FOR_MORE = 16;

/** How long one read may hold up those behind it, and a lane is kept without use, in milliseconds. */
const PATIENCE = 50;

/**
 * Sends reads behind each other over few connections, without waiting for the answers between them: those of one turn of the
 * event loop go out, and come back, in one piece, which takes half the processor time. What waits behind a read that turns out
 * slow, because of a lock for example, is read once more on another connection.
 *
 * The connections are borrowed from the pool while they are of use.
 */
export class SharedReads {
  private readonly lanes = new Set<Lane>();
  private opening: Promise<Lane> | undefined;

  /** Half of the connections are left for all else. */
  private readonly most: number;

  constructor(private readonly dataSource: DataSource) {
    this.most = Math.ceil(this.pool.options.max / 2);
  }

  private get pool(): Pool {
    return poolOf(this.dataSource);
  }

  /** @throws QueryFailedError, or what the pool throws when it has no connection */
  async run(statement: Statement): Promise<unknown[][]> {
    const lane = this.freest() ?? (await this.opened());
    lane.holdUntilEndOfTurn();
    return lane.run(statement);
  }

  private freest(): Lane | undefined {
    let freest: Lane | undefined;
    for (const lane of this.lanes) {
      if (!freest || lane.pending.length < freest.pending.length) {
        freest = lane;
      }
    }
    const enough = this.lanes.size === 1 ? ENOUGH_FOR_TWO : ENOUGH_FOR_MORE;
    if (freest && freest.pending.length >= enough && this.lanes.size < this.most) {
      // For those to come; should there be none, this one goes on.
      this.opened().catch(() => undefined);
    }
    return freest;
  }

  private opened(): Promise<Lane> {
    this.opening ??= this.open().finally(() => {
      this.opening = undefined;
    });
    return this.opening;
  }

  private async open(): Promise<Lane> {
    const { client, release } = await borrow(this.dataSource);
    let isOpen = true;
    const close = () => {
      isOpen = false;
      clearInterval(watch);
      this.lanes.delete(lane);
      release();
    };
    const lane = new Lane(client, () => {
      if (lane.isBroken) {
        this.lanes.delete(lane);
      }
      if (isOpen && lane.pending.length === 0 && (!hasRoom(this.pool) || !this.lanes.has(lane))) {
        close();
      }
    });
    let answeredBefore = -1;
    // Timers come before arrivals in a turn of the event loop: what has arrived is to be seen first.
    const look = () => {
      if (!isOpen || !this.lanes.has(lane)) {
        return;
      }
      if (lane.answered > answeredBefore) {
        answeredBefore = lane.answered;
      } else if (lane.pending.length === 0) {
        close();
      } else {
        this.passBy(lane);
      }
    };
    const watch = setInterval(() => setImmediate(look), PATIENCE).unref();
    this.lanes.add(lane);
    return lane;
  }

  /** Sends nothing more behind a read that is slow, and all that waits behind it another way. */
  private passBy(lane: Lane): void {
    this.lanes.delete(lane);
    const [, ...behind] = lane.pending;
    for (const { statement, resolve, reject } of behind) {
      this.run(statement).then(resolve, reject);
    }
  }
}

/** Whether others need not wait for a connection that is kept for the reads to come. */
function hasRoom({ idleCount, totalCount, options }: Pool): boolean {
  return idleCount > 0 || totalCount < options.max;
}
