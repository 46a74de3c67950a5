import { execFile } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { swcDefaultsFactory } from '@nestjs/cli/lib/compiler/defaults/swc-defaults.js';
import { type Options, transformFileSync } from '@swc/core';
import { testDirectory } from '../support/test-database.js';

it("runs as Nest's SWC builder compiles it", async () => {
  const directory = mkdtempSync(join(testDirectory(), 'swc-'));
  cpSync('src', join(directory, 'dist'), { recursive: true });
  const { jsc } = swcDefaultsFactory().swcOptions as Options;
  for (const path of globSync('**/*.ts', { cwd: 'src', exclude: ['**/*.spec.ts'] })) {
    const target = join(directory, 'dist', path.replace(/ts$/, 'js'));
    writeFileSync(target, transformFileSync(join('src', path), { jsc: jsc ?? {}, module: { type: 'es6' } }).code);
  }
  cpSync('package.json', join(directory, 'package.json'));
  symlinkSync(resolve('node_modules'), join(directory, 'node_modules'));
  const { stdout } = await promisify(execFile)(process.execPath, ['dist/cli.js', 'openapi'], { cwd: directory });
  expect(JSON.parse(stdout)).toEqual(JSON.parse(readFileSync('openapi.json', 'utf8')));
});
