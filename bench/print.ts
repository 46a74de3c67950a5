export function print(text = ''): void {
  process.stdout.write(`${text}\n`);
}

/** Prints a table in Markdown; all but its first column are numbers. */
export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const rule = head.map((_, column) => (column === 0 ? '---' : '--:'));
  print(`\n${[head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`);
}
