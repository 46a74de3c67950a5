import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A block of code in a document. */
export interface Block {
  readonly language: string;
  readonly text: string;
}

export function blocksOf(document: string): Block[] {
  const blocks = readFileSync(document, 'utf8').matchAll(/^```(\w+)\n([^]*?)^```$/gm);
  return Array.from(blocks, ([, language = '', text = '']) => ({ language, text }));
}

/** Converts a fixture to its text in the guide, where widgets are gadgets and the platform has another relative path. */
const rename = (text: string) =>
  text
    .replaceAll('widget', 'gadget')
    .replaceAll('Widget', 'Gadget')
    .replaceAll('WIDGET', 'GADGET')
    .replaceAll(/'(?:\.\.\/)+src\/platform/g, (path) =>
      path.startsWith("'../../../..") ? "'../../platform" : "'../platform",
    );

/** The files of the modules that the tests know, by their paths in the guide. */
export const guideFiles: ReadonlyMap<string, string> = new Map(
  readdirSync('test/fixtures').flatMap((name) =>
    globSync('**/*.ts', { cwd: join('test/fixtures', name) }).map((path) => [
      rename(join('src', name, path)),
      rename(readFileSync(join('test/fixtures', name, path), 'utf8')),
    ]),
  ),
);
