import { jest } from '@jest/globals';
import * as fc from 'fast-check';
import { v7 } from 'uuid';
import { creationTime, creationTimeText, firstId, isUuid, newId } from './id.js';

afterEach(() => jest.useRealTimers());

describe('an id', () => {
  it('is greater than all earlier ids, also within a millisecond [id-monotonic]', () => {
    const ids = Array.from({ length: 10_000 }, newId);
    expect(ids).toEqual([...new Set(ids)].toSorted());
  });

  it('is greater also after the clock has been set back [id-monotonic]', () => {
    const before = newId();
    jest.useFakeTimers({ now: Date.now() - 60_000, doNotFake: ['performance'] });
    expect(newId() > before).toBe(true);
  });

  it('has the time of its creation [created-at-in-id]', () => {
    const now = Date.now() + 60_000;
    jest.useFakeTimers({ now, doNotFake: ['performance'] });
    expect(creationTime(newId())).toEqual(new Date(now));
  });

  it('ends with 40 random bits, so that those of other instances differ', () => {
    const ends = Array.from({ length: 1000 }, () => newId().slice(-10));
    expect(new Set(ends).size).toBe(ends.length);
  });

  it('gives its creation time as text', () => {
    const texts = [
      '1970-01-01T00:00:00.000Z',
      '2024-02-29T23:59:59.999Z',
      '2024-03-01T00:00:00.001Z',
      '2038-01-19T03:14:08.010Z',
    ];
    expect(texts.map((text) => creationTimeText(firstId(Date.parse(text))))).toEqual(texts);
  });

  it('gives its creation time, of any day, as a date and as text', () => {
    const times = fc.integer({ min: 0, max: Date.parse('9999-12-31T23:59:59.999Z') });
    fc.assert(
      fc.property(times, (msecs) => {
        const id = v7({ msecs });
        expect(creationTime(id)).toEqual(new Date(msecs));
        expect(creationTimeText(id)).toBe(new Date(msecs).toISOString());
      }),
    );
  });
});

it('the first id of a time is greater than all earlier ids, and than no other', () => {
  const now = Date.now();
  expect(firstId(now) > v7({ msecs: now - 1 })).toBe(true);
  expect(firstId(now) <= v7({ msecs: now, seq: 0, random: new Uint8Array(16) })).toBe(true);
  expect(firstId(0)).toBe('00000000-0000-0000-0000-000000000000');
  expect(firstId(-1)).toBe(firstId(0));
});

const id = '0190163d-8694-739b-aea5-966c26f8ad91';

describe('a UUID', () => {
  it.each([newId(), id, id.toUpperCase(), 'ffffffff-ffff-ffff-ffff-ffffffffffff'])('can be %s', (text) => {
    expect(isUuid(text)).toBe(true);
  });

  it.each([
    '',
    id.replaceAll('-', ''),
    `{${id}}`,
    `${id} `,
    ` ${id}`,
    `${id}\n`,
    id.slice(1),
    id.slice(0, -1),
    `0${id}`,
    `${id}0`,
    '0190163-d8694-739b-aea5-966c26f8ad91',
    '0190163d-8694-739b-aea5966c26f8ad91',
    '0190163d-8694-739b-aea-5966c26f8ad91',
    'g190163d-8694-739b-aea5-966c26f8ad91',
    '0190163d-869g-739b-aea5-966c26f8ad91',
    '0190163d-8694-739b-aea5-966c26f8ad9g',
    `urn:uuid:${id}`,
  ])('cannot be %j', (text) => {
    expect(isUuid(text)).toBe(false);
  });
});
