/** A queue in {@link IntegerQueues}. */
export class Queue {
  length = 0;
  /** Its first integer, while there is one. */
  head = 0;
  /** Positions of its ends. */
  first = 0;
  last = 0;
}

/** Integers in a block, a power of two. In place of the last one it says where the queue goes on, or the next free block is. */
const BLOCK = 16;
const LINK = BLOCK - 1;

/** Integers in a chunk, a power of two: 256 KB. */
const CHUNK_BITS = 16;
// Not a power of 2 by `**`: V8 keeps all that is computed with its result, each position, as an object of 16 bytes.
const CHUNK = 1 << CHUNK_BITS;

/** Blocks of 32-bit integers in one array. */
class Chunk {
  readonly integers = new Int32Array(CHUNK);
  used = 0;
  /** Index of the first free block; past the end if there is none. */
  free = 0;

  constructor() {
    for (let block = 0; block < CHUNK; block += BLOCK) {
      this.integers[block + LINK] = block + BLOCK;
    }
  }
}

/**
 * Many queues of 32-bit integers, in blocks of a few large arrays: a typed array for each queue would cost some 300 bytes on top
 * of what is in it, and an array of numbers twice as much for each number.
 */
export class IntegerQueues {
  private readonly chunks: Chunk[] = [];
  /** Index of the first chunk that is not full, perhaps one that does not exist yet. */
  private firstWithRoom = 0;

  /** Bytes of all arrays. */
  get size(): number {
    return this.chunks.length * CHUNK * Int32Array.BYTES_PER_ELEMENT;
  }

  push(queue: Queue, integer: number): void {
    if (queue.length === 0) {
      queue.last = this.takeBlock();
      queue.first = queue.last;
      queue.head = integer;
    } else {
      queue.last += 1;
      if (isLink(queue.last)) {
        const next = this.takeBlock();
        this.write(queue.last, next);
        queue.last = next;
      }
    }
    queue.length += 1;
    this.write(queue.last, integer);
  }

  /** Removes the first integer; there must be one. */
  shift(queue: Queue): void {
    const block = queue.first & ~LINK;
    queue.length -= 1;
    if (queue.length === 0) {
      this.giveBack(block);
      return;
    }
    queue.first += 1;
    if (isLink(queue.first)) {
      queue.first = this.read(queue.first);
      this.giveBack(block);
    }
    queue.head = this.read(queue.first);
  }

  /** Puts an integer in place of the last one; there must be one. */
  replaceLast(queue: Queue, integer: number): void {
    if (queue.length === 1) {
      queue.head = integer;
    }
    this.write(queue.last, integer);
  }

  /** Gives memory back that is not used any more. */
  trim(): void {
    while (this.chunks.at(-1)?.used === 0) {
      this.chunks.pop();
    }
  }

  /** From the first chunk that has one, so that the others run empty after a time of many calls. */
  private takeBlock(): number {
    while (this.chunks[this.firstWithRoom]?.free === CHUNK) {
      this.firstWithRoom += 1;
    }
    const chunk = (this.chunks[this.firstWithRoom] ??= new Chunk());
    const block = chunk.free;
    chunk.free = chunk.integers[block + LINK] ?? CHUNK;
    chunk.used += 1;
    return this.firstWithRoom * CHUNK + block;
  }

  private giveBack(position: number): void {
    const chunk = this.chunkAt(position);
    const block = position % CHUNK;
    chunk.integers[block + LINK] = chunk.free;
    chunk.free = block;
    chunk.used -= 1;
    this.firstWithRoom = Math.min(this.firstWithRoom, position >>> CHUNK_BITS);
  }

  private read(position: number): number {
    return this.chunkAt(position).integers[position % CHUNK] ?? 0;
  }

  private write(position: number, integer: number): void {
    this.chunkAt(position).integers[position % CHUNK] = integer;
  }

  private chunkAt(position: number): Chunk {
    const chunk = this.chunks[position >>> CHUNK_BITS];
    if (!chunk) {
      throw new RangeError(`There is no block at ${position}.`);
    }
    return chunk;
  }
}

function isLink(position: number): boolean {
  return position % BLOCK === LINK;
}
