import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import express, { type RequestHandler, Router } from 'express';

/** Where the files are served. */
export const SWAGGER_UI_ASSETS_PATH = '/docs/assets';

const FILES: ReadonlySet<string> = new Set(['swagger-ui.css', 'index.css', 'swagger-ui-bundle.js', 'favicon-32x32.png']);

/** The files of Swagger UI that its page needs, from the installed package: nothing is loaded from elsewhere. */
export function swaggerUiAssets(): RequestHandler {
  const { resolve } = createRequire(import.meta.url);
  const files = express.static(dirname(resolve('swagger-ui-dist/package.json')), {
    index: false,
    redirect: false,
    setHeaders: (response) => response.setHeader('Cache-Control', 'public, max-age=3600'),
  });
  return Router({ caseSensitive: true, strict: true }).use((request, response, next) => {
    if (FILES.has(request.path.slice(1))) {
      files(request, response, next);
    } else {
      next();
    }
  });
}
