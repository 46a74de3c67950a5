import { readFileSync } from 'node:fs';
import type { OpenAPIObject } from '@nestjs/swagger';
import { TOKEN_PREFIX } from '../auth/token-format.js';
import { FAULT_CODES } from '../problems/problem.js';
import { problemTypes } from '../problems/problem-types.js';
import { problemExamples } from '../openapi/problem-examples.js';
import { resolveSchema } from '../openapi/openapi-document.js';
import { sampleCalls } from '../openapi/sample-calls.js';

const read = (name: string) => readFileSync(new URL(`assets/${name}`, import.meta.url), 'utf8');
const TEMPLATES = {
  layout: read('layout.html'),
  landing: read('landing.html'),
  console: read('console.html'),
  problems: read('problems.html'),
};

const UNKNOWN_CODE = 'A rule of an operation; `detail` has the fix.';

export const ICON = read('icon.svg');

/** The title of the service, links to its other pages, and commands that create and list. */
export function landingPage(document: OpenAPIObject): string {
  const { title: service, version, summary = '' } = document.info as OpenAPIObject['info'] & { summary?: string };
  const commands = Object.values(sampleCalls(document, '', '$TOKEN')).map(
    (call) =>
      `<div class="command"><pre tabindex="0"><code>${escaped(call)}</code></pre><button type="button">Copy</button></div>`,
  );
  const values = { service, summary, version, prefix: TOKEN_PREFIX, commands: commands.join('\n') };
  return page(service, '', './', fill('landing', values));
}

/** Swagger UI, which `assets/console.js` starts on the document of this service. */
export function consolePage(service: string): string {
  return page(service, 'Console', './', fill('console', {}));
}

/** Explains every problem type, with its name as fragment, and every code. */
export function problemsPage(document: OpenAPIObject): string {
  const types = problemTypes();
  const examples = problemExamples(document);
  const index = types.map(
    ({ name, status, title }) => `<li><a href="#${name}"><code>${status}</code> ${html(title)}</a></li>`,
  );
  const sections = types.map(
    ({ name, status, title, remedy }) => `<section id="${name}">
<h2>${html(title)}</h2>
<p class="kind">Status ${status}, type <a href="#${name}"><code>${name}</code></a></p>
<p>${html(remedy)}</p>
<pre tabindex="0"><code>${escaped(JSON.stringify(examples.get(name), null, 2))}</code></pre>
</section>`,
  );
  const meanings = new Map<string, string>(Object.entries(FAULT_CODES));
  const codes = errorCodes(document).map(
    (code) => `<dt><code>${html(code)}</code></dt><dd>${html(meanings.get(code) ?? UNKNOWN_CODE)}</dd>`,
  );
  const values = { index: index.join('\n'), sections: sections.join('\n'), codes: codes.join('\n') };
  return page(document.info.title, 'Problems', '../', fill('problems', values));
}

/** Every `errors[].code`, as the document lists them. */
function errorCodes({ components }: OpenAPIObject): string[] {
  const code = resolveSchema(components?.schemas?.['FieldError'], {}).properties?.['code'];
  return code && 'examples' in code ? (code.examples as string[]) : [];
}

/**
 * Fills the layout of a page. Scripts and styles are files, because the Content-Security-Policy allows no inline ones.
 *
 * @param root - relative path of `/`: all links are relative, because a proxy may add a path prefix
 */
function page(service: string, name: string, root: './' | '../', body: string): string {
  const title = name === '' ? service : `${name} – ${service}`;
  return fill('layout', { title, service, root, body, [`current:${name}`]: ' aria-current="page"' });
}

/** Replaces `{{name}}` by escaped text, and `{{{name}}}` by HTML. */
function fill(template: keyof typeof TEMPLATES, values: Readonly<Record<string, string>>): string {
  const replace = (_match: string, raw: string | undefined, name = '') =>
    raw === undefined ? html(values[name] ?? '') : (values[name] ?? '');
  return TEMPLATES[template].replaceAll(/{{({)?([\w:]+)}}}?/g, replace);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Escapes text; Markdown's `code` becomes an element. */
function html(text: string): string {
  return escaped(text).replaceAll(/`([^`]*)`/g, '<code>$1</code>');
}
