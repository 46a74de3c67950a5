import type { OpenAPIObject } from '@nestjs/swagger';
import { exampleCall } from './example-call.js';
import { escapeHtml } from './html.js';
import { page } from './page.js';

/**
 * What the service is and where to go on, for people who open its address in a browser or with curl.
 *
 * @param origin - where the client reached the service, as far as that can be told: `http://localhost:3000`. A script replaces it
 *   by what the browser knows, which includes the path of a proxy
 */
export function landingPage(document: OpenAPIObject, origin: string): string {
  const { title, version } = document.info;
  const summary = 'summary' in document.info ? String(document.info.summary) : '';
  return page({
    service: title,
    root: './',
    head: '<script type="module" src="docs/assets/landing.js"></script>',
    body: `<main id="content" tabindex="-1" class="prose">
<h1>${escapeHtml(title)}</h1>
<p class="lead">${escapeHtml(summary)}</p>
<p class="kind">Version ${escapeHtml(version)}</p>
<ul class="doors">
<li><a href="docs">Console</a> Read about every operation, and try it here.</li>
<li><a href="docs/problems">Problems</a> What each error means, and how to mend it.</li>
<li><a href="openapi.json">openapi.json</a> The same for programs: the OpenAPI document.</li>
</ul>
${call(exampleCall(document), origin)}
</main>`,
  });
}

function call(path: string | undefined, origin: string): string {
  if (path === undefined) {
    return '';
  }
  const line = `curl -H "Authorization: Bearer $TOKEN" ${origin}${path}`;
  return `<h2>Call it</h2>
<p>With a token from whoever runs the service, in the variable <code>TOKEN</code>:</p>
<pre tabindex="0"><code id="call">${escapeHtml(line)}</code></pre>`;
}
