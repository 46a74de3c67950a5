export function codePoints(value: string): number {
  let count = 0;
  for (const _ of value) count += 1;
  return count;
}
