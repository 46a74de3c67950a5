import { Pool, type PoolClient, type PoolConfig } from 'pg';

/** Told of what goes on in a pool. */
export interface PoolObserver {
  /** There is a pool now. */
  opened(pool: Pool): void;
  /** It is of no use any more. */
  closed(pool: Pool): void;
  /** Somebody got a connection from it, or none, and waited so many seconds. */
  acquired(seconds: number, error: unknown): void;
}

/** What TypeORM and `pg` are given for a pool. */
export interface DatabasePoolConfig extends PoolConfig {
  poolObserver?: PoolObserver;
}

type Callback = (error: Error | undefined, client: PoolClient | undefined, release: (release?: unknown) => void) => void;

/** A `pg` pool that tells how long connections are waited for. */
export class DatabasePool extends Pool {
  private readonly observer: PoolObserver | undefined;

  constructor(config: DatabasePoolConfig = {}) {
    super(config);
    this.observer = config.poolObserver;
    this.observer?.opened(this);
  }

  /** Takes and gives what `Pool.connect` does: a callback, as TypeORM uses it, or a promise. */
  override connect(...callbacks: never[]): never {
    const { observer } = this;
    const [callback] = callbacks as Callback[];
    const start = performance.now();
    const tell = (error: unknown) => observer?.acquired((performance.now() - start) / 1000, error);
    if (callback) {
      super.connect((error, client, release) => {
        tell(error);
        callback(error, client, release);
      });
      return undefined as never;
    }
    const client = super.connect();
    client.then(() => tell(undefined), tell);
    return client as never;
  }

  /** Takes and gives what `Pool.end` does. */
  override end(...callbacks: never[]): never {
    this.observer?.closed(this);
    return (super.end as (...callbacks: never[]) => never)(...callbacks);
  }
}
