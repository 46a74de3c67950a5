import { closestMatch } from 'leven';

/** The name that was probably meant: a third of its characters may differ. */
export function closest(name: string, names: readonly string[]): string | undefined {
  return closestMatch(name, names, { maxDistance: Math.ceil(name.length / 3) });
}
