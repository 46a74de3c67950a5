import { done } from '#service/platform/progress/figures';
import { StatusLine } from '#service/platform/progress/status-line';

/** Undefined, so that nothing is shown, where nobody looks: in a pipe. */
const line = StatusLine.on(process.stderr);

/**
 * Does something with many rows, a part at a time, and shows how far it is.
 *
 * @param what - the rows are, as in `rows of items`
 * @param size - of a part
 * @param work - with the rows from `first` to `last`, counting from 1
 */
export async function inParts(
  what: string,
  total: number,
  size: number,
  work: (first: number, last: number) => Promise<void>,
): Promise<void> {
  const begun = performance.now();
  for (let count = 0; count < total; count += size) {
    line?.show(done(what, count, total, performance.now() - begun));
    await work(count + 1, Math.min(count + size, total));
  }
  line?.clear();
}
