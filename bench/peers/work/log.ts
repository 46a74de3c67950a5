/** Tells the operator why a request failed. */
export function logError(error: unknown): void {
  process.stderr.write(`${Error.isError(error) ? error.stack : String(error)}\n`);
}
