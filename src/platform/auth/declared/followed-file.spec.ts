import { setTimeout as delay } from 'node:timers/promises';
import { FollowedFile } from './followed-file.js';

/** A file in memory that notes how it is read. */
class Disk {
  content: string | Error = 'first';
  reads = 0;
  atOnce = 0;
  mostAtOnce = 0;
  /** Until when reads give nothing. */
  hanging: Promise<void> = Promise.resolve();
  readonly told: string[] = [];
  readonly file = new FollowedFile({
    interval: 10,
    patience: 500,
    read: () => this.read(),
    onContent: (content) => this.told.push(content.toString()),
    onFailure: (error) => this.told.push(String(error)),
  });

  /** Waits until the file has been looked at this many times more. */
  async looks(count: number): Promise<void> {
    for (const target = this.reads + count; this.reads < target;) await delay(5);
  }

  private async read(): Promise<Buffer> {
    this.reads += 1;
    this.atOnce += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.atOnce);
    const { content } = this;
    await this.hanging;
    this.atOnce -= 1;
    if (Error.isError(content)) throw content;
    return Buffer.from(content);
  }
}

describe('a file that is followed', () => {
  let disk: Disk;
  let following: Promise<void>;

  beforeEach(async () => {
    disk = new Disk();
    expect((await disk.file.read()).toString()).toBe('first');
    following = disk.file.follow();
  });

  afterEach(async () => {
    disk.file.stop();
    await following;
  });

  it('tells of every content once, and of none that it has told', async () => {
    await disk.looks(5);
    expect(disk.told).toEqual([]);
    for (const content of ['second', 'third', 'second']) {
      disk.content = content;
      await disk.looks(10);
    }
    expect(disk.told).toEqual(['second', 'third', 'second']);
  });

  it('tells of every failure once for each reason, and of the content when that is back, though it is the same', async () => {
    for (const content of [new Error('away'), new Error('away'), new Error('broken'), 'first']) {
      disk.content = content;
      await disk.looks(10);
    }
    expect(disk.told).toEqual(['Error: away', 'Error: broken', 'first']);
  });

  it('takes nothing that somebody is about to write', async () => {
    for (const content of ['', 's', 'se', 'sec', new Error('away'), 'second']) {
      disk.content = content;
      await disk.looks(1);
    }
    await disk.looks(10);
    expect(disk.told).toEqual(['second']);
  });

  it('is read by one at a time, and a disk that does not answer is a failure', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await disk.looks(1);
    disk.hanging = promise;
    while (disk.told.length === 0) await delay(50);
    expect([disk.told, disk.mostAtOnce]).toEqual([['Error: No answer within 500 ms.'], 1]);
    disk.hanging = Promise.resolve();
    resolve();
    await disk.looks(10);
    expect([disk.told.slice(1), disk.mostAtOnce]).toEqual([['first'], 1]);
  });

  it('is left alone in the end', async () => {
    disk.content = 'second';
    await disk.looks(1);
    disk.file.stop();
    await following;
    const { reads } = disk;
    await delay(100);
    expect([disk.told, disk.reads]).toEqual([[], reads]);
  });
});
