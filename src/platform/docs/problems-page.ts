import { type ProblemType, problemTypes } from '../http/problem-type.js';
import { schemas } from '../openapi/platform-components.js';
import { escapeHtml, proseHtml } from './html.js';
import { page } from './page.js';

/** Explains every registered problem type, each under its name as fragment. */
export function problemsPage(service: string): string {
  const types = problemTypes();
  return page({
    service,
    name: 'Problems',
    root: '../',
    body: `<main id="content" tabindex="-1" class="prose">
<h1>Problems</h1>
<p>Every error of the service is answered with problem details (<a href="https://www.rfc-editor.org/rfc/rfc9457">RFC 9457</a>), as
<code>application/problem+json</code>. Their <code>type</code> leads to one of the explanations below. Their <code>requestId</code>, also
sent as <code>X-Request-Id</code>, is for the operator of the service, who finds the request by it in the log and, if the service makes
traces, its trace.</p>
<nav aria-label="Problems by status">
<ul class="index">
${types.map(entry).join('\n')}
</ul>
</nav>
${types.map(section).join('\n')}
<section id="members">
<h2>Members of a problem</h2>
<dl>
${members()}
</dl>
</section>
</main>`,
  });
}

function entry({ name, status, title }: ProblemType): string {
  return `<li><a href="#${name}"><code>${status}</code> ${escapeHtml(title)}</a></li>`;
}

function section({ name, status, title, remedy }: ProblemType): string {
  return `<section id="${name}">
<h2>${escapeHtml(title)}</h2>
<p class="kind">Status ${status}, type <a href="#${name}"><code>${name}</code></a></p>
<p>${proseHtml(remedy)}</p>
</section>`;
}

function members(): string {
  const { Problem } = schemas;
  const properties = Problem && 'properties' in Problem ? Object.entries(Problem.properties ?? {}) : [];
  return properties
    .map(([name, property]) => ('description' in property ? [name, property.description ?? ''] : [name, '']))
    .map(([name = '', description = '']) => `<dt><code>${name}</code></dt>\n<dd>${proseHtml(description)}</dd>`)
    .join('\n');
}
