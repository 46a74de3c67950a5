import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { droppedLines, LogOutput } from './nest-logger.js';

it('waits for a slow reader of a pipe, and drops and counts lines that are not read', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'items-log-'));
  const [pipe, path] = [join(directory, 'pipe'), join(directory, 'log')];
  execFileSync('mkfifo', [pipe]);
  const fd = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
  const output = new LogOutput(fd);
  const line = `${'a'.repeat(999)}\n`;
  const dropped = async () => (await droppedLines.get()).values[0]?.value;
  const write = (count: number) => {
    for (let index = 0; index < count; index += 1) output.write(line);
  };

  const reader = spawn('sh', ['-c', 'sleep 0.3; head -c 500000 "$0" > "$1"', pipe, path]);
  const ended = once(reader, 'close');
  write(500);
  await ended;
  expect([readFileSync(path, 'utf8') === line.repeat(500), await dropped()]).toEqual([true, 0]);

  // A pipe holds 64 KiB.
  write(500);
  expect(await dropped()).toBeGreaterThan(400);
  closeSync(fd);
  rmSync(directory, { recursive: true });
});
