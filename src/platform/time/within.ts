/**
 * What some work gives, if it is there in time.
 *
 * @param milliseconds - of time. What has arrived by then counts, even if this process was too busy to look at it.
 * @throws Error when it is not, or what the work throws
 */
export function within<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // Timers come first in a turn of the event loop, arrivals then, and this last.
      setImmediate(() => {
        reject(new Error(`No answer within ${milliseconds} ms.`));
      });
    }, milliseconds);
    work.then(resolve, reject).finally(() => {
      clearTimeout(timer);
    });
  });
}
