/**
 * What some work gives, if it is there in time.
 *
 * @param milliseconds - of time. What has arrived by then counts, even if this process was too busy to look at it.
 * @param late - makes the error when it is not
 * @throws that error, or what the work throws
 */
export function within<T>(
  milliseconds: number,
  work: Promise<T>,
  late: () => Error = () => new Error(`No answer within ${milliseconds} ms.`),
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // Timers come first in a turn of the event loop, arrivals then, and this last.
      setImmediate(() => {
        reject(late());
      });
    }, milliseconds);
    work.then(resolve, reject).finally(() => {
      clearTimeout(timer);
    });
  });
}
