import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import express, { type RequestHandler, Router } from 'express';

/** Where the files are served. */
export const DOCS_ASSETS_PATH = '/docs/assets';

/** Files of our own, from the folder beside this one. */
const OWN: ReadonlySet<string> = new Set(['console.css', 'console.js', 'icon.svg', 'landing.js', 'pages.css']);

/** Files of the installed package of Swagger UI: nothing is loaded from elsewhere. */
const SWAGGER_UI: ReadonlySet<string> = new Set(['swagger-ui.css', 'swagger-ui-bundle.js']);

/** The files that the pages of the documentation need, and no others. */
export function docsAssets(): RequestHandler {
  const { resolve } = createRequire(import.meta.url);
  const own = filesOf(fileURLToPath(new URL('assets', import.meta.url)));
  const swaggerUi = filesOf(dirname(resolve('swagger-ui-dist/package.json')));
  return Router({ caseSensitive: true, strict: true }).use((request, response, next) => {
    const name = request.path.slice(1);
    if (OWN.has(name)) {
      own(request, response, next);
    } else if (SWAGGER_UI.has(name)) {
      swaggerUi(request, response, next);
    } else {
      next();
    }
  });
}

function filesOf(directory: string): RequestHandler {
  return express.static(directory, {
    index: false,
    redirect: false,
    setHeaders: (response) => response.setHeader('Cache-Control', 'public, max-age=3600'),
  });
}
