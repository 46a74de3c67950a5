import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { droppedLines, LogOutput } from './nest-logger.js';

it('waits for a slow reader of a pipe, and drops and counts lines that are not read', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'items-log-'));
  const [pipe, path] = [join(directory, 'pipe'), join(directory, 'log')];
  execFileSync('mkfifo', [pipe]);
  const fd = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
  const output = new LogOutput(fd);
  // Long enough to be written in part.
  const line = `${'a'.repeat(9999)}\n`;
  const dropped = async () => (await droppedLines.get()).values[0]?.value;
  const write = (count: number) => {
    for (let index = 0; index < count; index += 1) output.write(line);
  };

  const reader = spawn('sh', ['-c', 'sleep 0.3; head -c 500000 "$0" > "$1"', pipe, path]);
  const ended = once(reader, 'close');
  write(50);
  await ended;
  expect([readFileSync(path, 'utf8') === line.repeat(50), await dropped()]).toEqual([true, 0]);

  // A pipe holds 64 KiB.
  write(50);
  expect(await dropped()).toBeGreaterThan(40);
  const received = Buffer.alloc(100_000);
  const rest = received.toString('utf8', 0, readSync(fd, received));
  output.write('next\n');
  expect(rest.endsWith('a')).toBe(true);
  expect(received.toString('utf8', 0, readSync(fd, received))).toBe('\nnext\n');
  closeSync(fd);
  rmSync(directory, { recursive: true });
});
