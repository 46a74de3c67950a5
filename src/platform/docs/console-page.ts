import { page } from './page.js';

/** Swagger UI, which `assets/console.js` starts on this service's own document. */
export function consolePage(service: string): string {
  return page({
    service,
    name: 'Console',
    root: './',
    head: `<link rel="stylesheet" href="docs/assets/swagger-ui.css">
<link rel="stylesheet" href="docs/assets/console.css">
<script defer src="docs/assets/swagger-ui-bundle.js"></script>
<script type="module" src="docs/assets/console.js"></script>`,
    body: `<div id="content" tabindex="-1"><div id="swagger-ui"></div>
<noscript><p>The console needs JavaScript. What it shows is in <a href="openapi.json">openapi.json</a>.</p></noscript></div>`,
  });
}
