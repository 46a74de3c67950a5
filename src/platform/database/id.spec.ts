import { jest } from '@jest/globals';
import { creationTimeText, firstId, newId } from './id.js';

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

  it('gives its creation time as text', () => {
    const texts = [
      '1970-01-01T00:00:00.000Z',
      '2024-02-29T23:59:59.999Z',
      '2024-03-01T00:00:00.001Z',
      '2038-01-19T03:14:08.010Z',
    ];
    expect(texts.map((text) => creationTimeText(firstId(Date.parse(text))))).toEqual(texts);
  });
});
