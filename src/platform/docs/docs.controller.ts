import { Controller, Get, Header, HttpCode, HttpStatus, Req, Res, VERSION_NEUTRAL } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Public } from '../auth/scopes.guard.js';
import { PROBLEMS_PATH } from '../problems/problem-types.js';
import { Hidden } from '../routes/operation.js';
import { OpenApiDocument } from '../openapi/openapi-document.js';
import { consolePage, ICON, landingPage, problemsPage } from './pages.js';

/**
 * Documentation: pages for people, and the OpenAPI document for programs. Exists only with `API_DOCS`. Texts that take long
 * to make are made once, because they are served without a token, and during overload.
 */
@Public()
@Hidden()
@Controller({ version: VERSION_NEUTRAL })
export class DocsController {
  private problemsText: string | undefined;
  private documentText: string | undefined;

  constructor(private readonly document: OpenApiDocument) {}

  @Get()
  landing(): string {
    return landingPage(this.document.get());
  }

  @Get('docs')
  console(): string {
    return consolePage(this.document.get().info.title);
  }

  @Get(PROBLEMS_PATH)
  problems(): string {
    return (this.problemsText ??= problemsPage(this.document.get()));
  }

  @Get('openapi.json')
  @Header('Content-Type', 'application/json; charset=utf-8')
  openApiDocument(): string {
    return (this.documentText ??= JSON.stringify(this.document.get()));
  }

  /** Redirects paths with a trailing slash to those without. */
  @Get(['docs{/}', `${PROBLEMS_PATH}{/}`, 'openapi.json{/}'])
  @HttpCode(HttpStatus.PERMANENT_REDIRECT)
  withoutSlash(@Req() { path }: Request, @Res({ passthrough: true }) response: Response): void {
    // Relative, because a proxy may serve this below a path. Express' `redirect` would read an `Accept` of 16 KiB for 3 ms.
    response.setHeader('Location', `../${path.split('/').at(-2)}`);
  }
}

/** What browsers and search engines request on their own. */
@Public()
@Hidden()
@Controller({ version: VERSION_NEUTRAL })
export class BrowserFilesController {
  /** Browsers request it for pages that have no icon, such as `openapi.json`. */
  @Get('favicon.ico')
  @Header('Content-Type', 'image/svg+xml')
  @Header('Cache-Control', 'public, max-age=3600')
  favicon(): string {
    return ICON;
  }

  @Get('robots.txt')
  @Header('Content-Type', 'text/plain')
  robots(): string {
    return 'User-agent: *\nDisallow: /\n';
  }
}
