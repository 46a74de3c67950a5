import type { Claim, Guarantee } from './collect.ts';

const HEAD = `<!-- Written by npm run guarantees. -->

# Guarantees and their tests

What clients, operators and modules can rely on, as the documents have it, and the tests whose names claim it.
[CONTRIBUTING.md](../CONTRIBUTING.md#guarantees) explains the keys.
`;

/** The table of all guarantees, in Markdown. */
export function tableOf(guarantees: readonly Guarantee[], claims: readonly Claim[]): string {
  const documents = Map.groupBy(guarantees, ({ document }) => document);
  const tests = Map.groupBy(claims, ({ key }) => key);
  const parts = [...documents].map(([document, own]) => {
    const rows = own.map(({ key, text, heading }) => {
      const link = `[${heading}](../${document}#${anchorOf(heading)})`;
      return `| \`${key}\` | ${link}: ${text} | ${(tests.get(key) ?? []).map(testOf).join('<br>')} |`;
    });
    return `\n## ${document}\n\n| Key | Guarantee | Tests |\n| --- | --- | --- |\n${rows.join('\n')}\n`;
  });
  return `${HEAD}${parts.join('')}\n${guarantees.length} guarantees, ${claims.length} claims of tests.\n`;
}

function testOf({ file, name }: Claim): string {
  return `[\`${file.replace(/^test\/|\.(?:e2e-)?spec\.ts$/g, '')}\`](../${file}) ${name.replaceAll('|', String.raw`\|`)}`;
}

/** As GitHub derives it from a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}
