import { readFileSync } from 'node:fs';
import type { OpenAPIObject } from '@nestjs/swagger';
import { problemTypes } from '../http/problem-type.js';

const read = (name: string) => readFileSync(new URL(`assets/${name}.html`, import.meta.url), 'utf8');
const TEMPLATES = { layout: read('layout'), landing: read('landing'), console: read('console'), problems: read('problems') };

/** What the service is and where to go on. */
export function landingPage({ info, paths }: OpenAPIObject): string {
  const { title: service, version } = info;
  const summary = 'summary' in info ? String(info.summary) : '';
  const path = Object.keys(paths).find((each) => paths[each]?.get && !each.includes('{')) ?? '/';
  return page(service, '', './', fill('landing', { service, summary, version, path }));
}

/** Swagger UI, which `assets/console.js` starts on this service's own document. */
export function consolePage(service: string): string {
  return page(service, 'Console', './', fill('console', {}));
}

/** Explains every registered problem type, each under its name as fragment. */
export function problemsPage(service: string): string {
  const types = problemTypes();
  const index = types.map(({ name, status, title }) => `<li><a href="#${name}"><code>${status}</code> ${html(title)}</a></li>`);
  const sections = types.map(
    ({ name, status, title, remedy }) => `<section id="${name}">
<h2>${html(title)}</h2>
<p class="kind">Status ${status}, type <a href="#${name}"><code>${name}</code></a></p>
<p>${html(remedy)}</p>
</section>`,
  );
  const values = { index: index.join('\n'), sections: sections.join('\n') };
  return page(service, 'Problems', '../', fill('problems', values));
}

/**
 * A whole page, made of files of this origin: the Content-Security-Policy allows no inline code or style.
 *
 * @param root - where `/` of the service is, which may lie below a path of a proxy: every link is relative
 */
function page(service: string, name: string, root: './' | '../', body: string): string {
  const title = name === '' ? service : `${name} – ${service}`;
  return fill('layout', { title, service, root, body, [`current:${name}`]: ' aria-current="page"' });
}

/** A template with texts in place of its `{{names}}`, and HTML in place of its `{{{names}}}`. */
function fill(template: keyof typeof TEMPLATES, values: Readonly<Record<string, string>>): string {
  const replace = (_match: string, raw: string | undefined, name = '') =>
    raw === undefined ? html(values[name] ?? '') : (values[name] ?? '');
  return TEMPLATES[template].replaceAll(/{{({)?([\w:]+)}}}?/g, replace);
}

/** Text as HTML, for between tags; of Markdown it may hold `code`. */
function html(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return escaped.replaceAll(/`([^`]*)`/g, '<code>$1</code>');
}
