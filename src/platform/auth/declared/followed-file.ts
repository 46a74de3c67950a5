import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { within } from '../../time/within.js';

/** How long a change must last to count, in milliseconds: whoever writes into a file in place empties it first. */
const SETTLING = 200;

/** How a file is followed. */
export interface FollowedFileOptions {
  /** Milliseconds between two looks at it. */
  interval: number;
  /** Milliseconds that a read may take. */
  patience: number;
  read(): Promise<Buffer>;
  /** Told when the content is another one, or is there again. */
  onContent(content: Buffer): void;
  /** Told when it cannot be read, and again when there is another reason. */
  onFailure(error: unknown): void;
}

/** What was found at one look. */
interface Finding {
  /** Equal in equal findings. */
  readonly mark: string;
  tell(): void;
}

/**
 * A file that is read again and again. The system could tell of changes, but not of all: Kubernetes replaces a link on the
 * way to the file, and network file systems tell nothing.
 */
export class FollowedFile {
  private readonly stopping = new AbortController();
  private reading: Promise<Buffer> | undefined;
  private mark = '';

  constructor(private readonly options: FollowedFileOptions) {}

  /**
   * Reads it for the first time.
   *
   * @throws what reading throws, or Error when it takes too long
   */
  async read(): Promise<Buffer> {
    const content = await this.readInTime();
    this.mark = markOf(content);
    return content;
  }

  /** From now on looks whether it is another one than was read, until {@link stop}. */
  async follow(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      await this.pause(this.options.interval);
      await this.look();
    }
  }

  /** Ends it: nothing is told any more. */
  stop(): void {
    this.stopping.abort();
  }

  private async look(): Promise<void> {
    const found = await this.find();
    if (found.mark === this.mark) {
      return;
    }
    await this.pause(SETTLING);
    const isLasting = (await this.find()).mark === found.mark;
    if (isLasting && !this.stopping.signal.aborted) {
      this.mark = found.mark;
      found.tell();
    }
  }

  private async find(): Promise<Finding> {
    try {
      const content = await this.readInTime();
      return {
        mark: markOf(content),
        tell: () => {
          this.options.onContent(content);
        },
      };
    } catch (error) {
      return {
        mark: Error.isError(error) ? error.message : String(error),
        tell: () => {
          this.options.onFailure(error);
        },
      };
    }
  }

  /** A disk that does not answer is waited for again, not asked again. */
  private readInTime(): Promise<Buffer> {
    this.reading ??= this.options.read().finally(() => {
      this.reading = undefined;
    });
    return within(this.options.patience, this.reading);
  }

  private async pause(milliseconds: number): Promise<void> {
    await delay(milliseconds, undefined, { ref: false, signal: this.stopping.signal }).catch(() => undefined);
  }
}

/** Instead of the content, which may be secret and need not stay in memory. */
function markOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('base64');
}
