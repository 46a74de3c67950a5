import { LRUCache } from 'lru-cache';

/** @returns whether a key is new, or was last new a minute ago. Only the latest `most` new keys are remembered */
export function onceAMinute(most: number): (key: string) => boolean {
  const seen = new LRUCache<string, true>({ max: most, ttl: 60_000, ttlResolution: 0 });
  return (key) => {
    const isNew = !seen.has(key);
    if (isNew) {
      seen.set(key, true);
    }
    return isNew;
  };
}
