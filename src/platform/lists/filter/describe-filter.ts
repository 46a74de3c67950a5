import { MAXIMUM_CONDITIONS, MAXIMUM_SEARCHES } from './budget.js';
import type { FilterDefinition } from './define-filter.js';
import type { FilterField } from './filter-fields.js';
import { notationOf } from './notation.js';
import { MAXIMUM_LENGTH } from './parse-expression.js';

/** The filter in short, in Markdown, for the description of its parameter. */
export function describeFilter({ fields }: FilterDefinition): string {
  const lines = Object.entries(fields).map(([name, field]) => `- \`${name}\`: ${describeField(field)}`);
  return [
    'Which rows to list, in a subset of CEL (Common Expression Language, cel.dev). Blank is no filter. Fields:',
    lines.join('\n'),
    'Compare with `==` `!=` `<` `<=` `>` `>=` and `in ["…", "…"]`; search texts with `.contains("…")`, `.startsWith("…")`, `.endsWith("…")` and, ignoring case, `.icontains("…")`; put `.lowerAscii()` before any of these to compare in lower case; join with `&&`, `||`, `!` and `( )`. Text is compared by code point, and no character in it is a wildcard.',
    `At most ${MAXIMUM_LENGTH} characters, ${MAXIMUM_CONDITIONS} conditions and ${MAXIMUM_SEARCHES} searches with \`contains\`, \`icontains\` or \`endsWith\`. A filter that is refused, or that takes too long, is answered 400, with the place (\`start\`, \`end\`) and how to fix it. Percent-encode it: \`curl -G --data-urlencode\` does.`,
  ].join('\n\n');
}

function describeField(field: FilterField): string {
  const { noun, example } = notationOf(field);
  const alone = field.type === 'bool' ? ', or a condition by itself' : '';
  return `${noun}, written \`${example}\`${alone}${field.nullable ? '; absent where `== null`' : ''}`;
}
