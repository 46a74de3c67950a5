import type { Pair } from './json.ts';

/** Characters of a value that are shown. */
const LENGTH = 100;

/** In words, like `255 became 100`. */
export function describeChange({ before, after }: Pair): string {
  if (before === undefined) {
    return `${show(after)} is new`;
  }
  return after === undefined ? `${show(before)} is gone` : `${show(before)} became ${show(after)}`;
}

function show(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > LENGTH ? `${text.slice(0, LENGTH)}…` : text;
}
