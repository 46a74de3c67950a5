import { randomUUID } from 'node:crypto';
import { parse, v7 } from 'uuid';
import { isoText } from '../time/timestamp.js';

/** Of what the latest key was made. */
const latest = { milliseconds: -Infinity, sequence: 0 };

/**
 * A new key: a UUIDv7 (RFC 9562, section 5.7), in lower case. Keys made by one process grow strictly, also within a
 * millisecond and when the clock is set back.
 */
export function newId(): string {
  // Node keeps random bytes for these: asked for one by one, they take 4 % of a create.
  const random = parse(randomUUID());
  const now = Date.now();
  if (now > latest.milliseconds) {
    latest.milliseconds = now;
    // Half of its range is left for those of the same millisecond.
    latest.sequence = Buffer.from(random).readUInt32BE() >>> 1;
  } else {
    latest.sequence += 1;
  }
  return v7({ random, msecs: latest.milliseconds, seq: latest.sequence });
}

/** The moment at which a key was made by {@link newId}, to the millisecond. */
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
