import { type Block, blocksOf, guideFiles } from '../support/guide.js';

/** Which file a block is of, by its first line, and the parts of that which it has. */
function partsOf({ text }: Block): { path: string; parts: string[] } {
  const [, path = '', content = ''] = /^\/\/ (\S+)\n([^]*)$/.exec(text) ?? [];
  return { path, parts: content.split(/^\/\/ …$/m) };
}

const shown = ['docs/tutorial.md', 'docs/recipes.md'].flatMap((document) =>
  blocksOf(document)
    .filter(({ language }) => language === 'ts')
    .map((block) => Object.assign(partsOf(block), { document })),
);

it.each(shown)('$document shows parts of $path as in the tests', ({ path, parts }) => {
  // How lines break depends on names and on where the platform is.
  const plain = (text: string) => text.replaceAll(/\s/g, '').replaceAll(/,(?=[)\]}])/g, '');
  for (const part of parts) {
    expect(plain(guideFiles.get(path) ?? '')).toContain(plain(part));
  }
});
