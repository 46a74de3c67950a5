import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Request, RequestHandler, Response } from 'express';

/** Where the files are served. */
export const DOCS_ASSETS_PATH = '/docs/assets';

/** Files of our own, from the folder beside this one. */
const OWN = ['console.css', 'console.js', 'icon.svg', 'landing.js', 'pages.css'];

/** Files of the installed package of Swagger UI: nothing is loaded from elsewhere. */
const SWAGGER_UI = ['swagger-ui.css', 'swagger-ui-bundle.js'];

/**
 * The files that the pages of the documentation need, and no others. They are read and compressed once, at start: a response
 * that is never read must not keep a file open.
 */
export function docsAssets(): RequestHandler {
  const { resolve } = createRequire(import.meta.url);
  const assets = new Map<string, ReturnType<typeof readAsset>>([
    ...OWN.map((name) => [`/${name}`, readAsset(new URL(`assets/${name}`, import.meta.url))] as const),
    ...SWAGGER_UI.map((name) => [`/${name}`, readAsset(resolve(`swagger-ui-dist/${name}`))] as const),
  ]);
  return async (request: Request, response: Response, next: () => void) => {
    const asset = assets.get(request.path);
    if (!asset || (request.method !== 'GET' && request.method !== 'HEAD')) {
      next();
      return;
    }
    response.type(asset.type).set({ 'Cache-Control': 'public, max-age=3600', ETag: asset.etag, Vary: 'Accept-Encoding' });
    if (request.acceptsEncodings('gzip') === 'gzip') {
      response.set('Content-Encoding', 'gzip').send(await asset.compressed);
    } else {
      response.send(asset.content);
    }
  };
}

function readAsset(file: string | URL) {
  const content = readFileSync(file);
  return {
    type: extname(file.toString()),
    content,
    compressed: promisify(gzip)(content),
    // Weak, because it is the same for the compressed form (RFC 9110, section 8.8.1).
    etag: `W/"${createHash('sha256').update(content).digest('base64url')}"`,
  };
}
