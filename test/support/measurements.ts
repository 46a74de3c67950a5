/** Writes a number that a test measured and does not judge, for people. */
export function measured(what: string, value: number, unit: string): void {
  process.stderr.write(`measured: ${what}: ${Math.round(value * 100) / 100} ${unit}\n`);
}
