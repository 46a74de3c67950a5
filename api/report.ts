import type { BreakingChange } from './breaking-change.ts';

/** In words, for whoever made the changes. What happens in several places, such as in a shared schema, is told once. */
export function report(changes: readonly BreakingChange[]): string {
  const paragraphs = [...Map.groupBy(changes, ({ change, harm }) => `${change}\n${harm.why}`).values()].map((alike) => {
    const [first] = alike;
    const places = alike.map(({ place, change }) => `${place}: ${change}`);
    return [...places, `  Why:     ${first?.harm.why}`, `  Instead: ${first?.harm.instead}`].join('\n');
  });
  return paragraphs.join('\n\n');
}
