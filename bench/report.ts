export function print(text = ''): void {
  process.stdout.write(`${text}\n`);
}

/** Prints a table in Markdown; all but its first column are numbers. */
export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const rule = head.map((_, column) => (column === 0 ? '---' : '--:'));
  print(`\n${[head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`);
}

/** Prints whether a promise was kept; if it was not, the process exits with 1. */
export function printPromise(promise: string, isKept: boolean): void {
  print(`${isKept ? 'kept' : 'NOT kept'}: ${promise}`);
  process.exitCode = isKept ? process.exitCode : 1;
}

/** Shows on a terminal how much of a long step is done. */
export function showProgress(step: string, done: number, total: number): void {
  if (process.stderr.isTTY) {
    process.stderr.write(`\r\x1b[K${step}: ${done} of ${total}${done === total ? '\n' : ''}`);
  }
}
