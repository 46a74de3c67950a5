import { type ProblemType, problemTypes } from '../http/problem-type.js';

/** Swagger UI, from files alone: a strict Content-Security-Policy allows no inline code or style. Paths are relative. */
export function swaggerUiPage(title: string): string {
  return page(
    title,
    `<link rel="stylesheet" href="docs/assets/swagger-ui.css">
<link rel="stylesheet" href="docs/assets/index.css">
<link rel="icon" href="docs/assets/favicon-32x32.png">`,
    `<div id="swagger-ui"></div>
<script src="docs/assets/swagger-ui-bundle.js"></script>
<script src="docs/initializer.js"></script>`,
  );
}

/** Starts Swagger UI on this service's own document. */
export const SWAGGER_UI_INITIALIZER = `SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  displayRequestDuration: true,
  persistAuthorization: true,
  validatorUrl: null,
});
`;

/** Explains every registered problem type, each under its name as fragment. */
export function problemsPage(title: string): string {
  const sections = problemTypes().map(section).join('\n');
  return page(`${title}: problems`, '<link rel="icon" href="assets/favicon-32x32.png">', `<h1>Problems</h1>\n${sections}`);
}

function section({ name, status, title, remedy }: ProblemType): string {
  return `<section id="${name}">
<h2>${escape(title)}</h2>
<p>Status ${status}, type <code>${name}</code></p>
<p>${escape(remedy).replaceAll(/`([^`]*)`/g, '<code>$1</code>')}</p>
</section>`;
}

function page(title: string, head: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)}</title>
${head}
</head>
<body>
${body}
</body>
</html>
`;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
