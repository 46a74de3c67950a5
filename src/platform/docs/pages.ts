import { readFileSync } from 'node:fs';
import type { OpenAPIObject } from '@nestjs/swagger';
import { problemTypes } from '../http/problem-type.js';
import { operationsOf } from '../openapi/operations.js';
import { schemas } from '../openapi/platform-components.js';

const read = (name: string) => readFileSync(new URL(`assets/${name}.html`, import.meta.url), 'utf8');
const TEMPLATES = { layout: read('layout'), landing: read('landing'), console: read('console'), problems: read('problems') };

/** How a client reached the service; HTTP/1.0 needs no Host header. */
interface Origin {
  readonly protocol: string;
  readonly host?: string;
}

/** What one page adds to the layout of all. Texts are plain, `head` and `body` are HTML. */
interface PageParts {
  /** Name of the service. */
  service: string;
  /** Name of the page; empty for the one at `/`. */
  name: string;
  /** Where `/` of the service is, seen from the page: it may lie below a path of a proxy, so every link is relative. */
  root: './' | '../';
  head?: string;
  body: string;
}

/**
 * What the service is and where to go on.
 *
 * @param request - whose origin the example for curl has; a script replaces it by what the browser knows
 */
export function landingPage(document: OpenAPIObject, request: Origin): string {
  const { title, version } = document.info;
  const summary = 'summary' in document.info ? String(document.info.summary) : '';
  const values = { service: title, summary, version, url: `${originOf(request)}${examplePath(document)}` };
  return page({
    service: title,
    name: '',
    root: './',
    head: '<script type="module" src="docs/assets/landing.js"></script>',
    body: fill('landing', Object.fromEntries(Object.entries(values).map(([name, text]) => [name, escapeHtml(text)]))),
  });
}

/** Swagger UI, which `assets/console.js` starts on this service's own document. */
export function consolePage(service: string): string {
  const head = `<link rel="stylesheet" href="docs/assets/swagger-ui.css">
<link rel="stylesheet" href="docs/assets/console.css">
<script defer src="docs/assets/swagger-ui-bundle.js"></script>
<script type="module" src="docs/assets/console.js"></script>`;
  return page({ service, name: 'Console', root: './', head, body: fill('console', {}) });
}

/** Explains every registered problem type, each under its name as fragment. */
export function problemsPage(service: string): string {
  const types = problemTypes();
  const index = types.map(
    ({ name, status, title }) => `<li><a href="#${name}"><code>${status}</code> ${escapeHtml(title)}</a></li>`,
  );
  const sections = types.map(
    ({ name, status, title, remedy }) => `<section id="${name}">
<h2>${escapeHtml(title)}</h2>
<p class="kind">Status ${status}, type <a href="#${name}"><code>${name}</code></a></p>
<p>${proseHtml(remedy)}</p>
</section>`,
  );
  const { Problem } = schemas;
  const properties = Problem && 'properties' in Problem ? Object.entries(Problem.properties ?? {}) : [];
  const members = properties.map(([name, property]) => {
    const description = 'description' in property ? (property.description ?? '') : '';
    return `<dt><code>${name}</code></dt>\n<dd>${proseHtml(description)}</dd>`;
  });
  const values = { index: index.join('\n'), sections: sections.join('\n'), members: members.join('\n') };
  return page({ service, name: 'Problems', root: '../', body: fill('problems', values) });
}

/** A whole page, made of files of this origin: the Content-Security-Policy allows no inline code or style. */
function page({ service, name, root, head = '', body }: PageParts): string {
  const title = escapeHtml(name === '' ? service : `${name} – ${service}`);
  const current = { [`current:${name}`]: ' aria-current="page"' };
  return fill('layout', { title, service: escapeHtml(service), root, head, body, ...current });
}

/** A template with HTML in place of its `{{names}}`; empty where there is no such value. */
function fill(template: keyof typeof TEMPLATES, values: Readonly<Record<string, string>>): string {
  return TEMPLATES[template].replaceAll(/{{([\w:]+)}}/g, (_, name: string) => values[name] ?? '');
}

/** Path of an operation that needs a token and no parameters; otherwise the root. */
function examplePath(document: OpenAPIObject): string {
  const operation = operationsOf(document).find(
    ({ method, path, operation: { parameters = [], security } }) =>
      method === 'get' &&
      !path.includes('{') &&
      security?.length !== 0 &&
      !parameters.some((parameter) => 'required' in parameter && parameter.required),
  );
  return operation?.path ?? '/';
}

/** The origin at which a client reached the service. The client chooses it: good for examples that the same client sees. */
function originOf({ protocol, host = '' }: Origin): string {
  // Nothing that a shell or a page would interpret.
  const isPlain = /^[\w.:[\]-]+$/.test(host);
  return `${protocol === 'https' ? 'https' : 'http'}://${isPlain ? host : 'localhost'}`;
}

/** Plain text as HTML, for between tags; not for attributes. */
function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Prose as HTML: plain text but for `code`, the one mark of Markdown that it may hold. */
function proseHtml(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]*)`/g, '<code>$1</code>');
}
