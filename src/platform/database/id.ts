import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';
import { isoText } from '../time/iso-text.js';

/** Of a key, half of which come to be in it. */
const RANDOM_BYTES = 16;

/** Random bytes for the keys to come: asked for one by one they take longer than all the rest. */
const random = new Uint8Array(256 * RANDOM_BYTES);
let used = random.length;

/** Of what the latest key was made. */
const latest = { milliseconds: -Infinity, sequence: 0 };

/**
 * A new key: a UUIDv7 (RFC 9562, section 5.7), in lower case. Keys made by one process grow strictly, also within a
 * millisecond and when the clock is set back.
 */
export function newId(): string {
  if (used === random.length) {
    randomFillSync(random);
    used = 0;
  }
  const bytes = random.subarray(used, (used += RANDOM_BYTES));
  const now = Date.now();
  if (now > latest.milliseconds) {
    latest.milliseconds = now;
    // Half of its range is left for those of the same millisecond.
    latest.sequence = Buffer.from(bytes.buffer, bytes.byteOffset).readUInt32BE() >>> 1;
  } else {
    latest.sequence += 1;
  }
  return v7({ random: bytes, msecs: latest.milliseconds, seq: latest.sequence });
}

/**
 * The moment at which a key was made, to the millisecond.
 *
 * @param id - from {@link newId}
 */
export function creationTime(id: string): Date {
  return new Date(millisecondsOf(id));
}

/** The same as text, in RFC 3339. */
export function creationTimeText(id: string): string {
  return isoText(millisecondsOf(id));
}

function millisecondsOf(id: string): number {
  return Number.parseInt(id.slice(0, 8), 16) * 0x1_00_00 + Number.parseInt(id.slice(9, 13), 16);
}

/**
 * The smallest key that could be made at or after a moment: keys made before it are less, all others are not.
 *
 * @param milliseconds - since 1970; before that, it is the smallest key of all
 */
export function firstId(milliseconds: number): string {
  const time = Math.max(milliseconds, 0).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether a text is a UUID (RFC 9562, section 4) in either case, of any version and variant, as PostgreSQL stores it. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}
