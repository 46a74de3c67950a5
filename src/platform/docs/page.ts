import { escapeHtml } from './html.js';

/** What one page for people adds to those parts that all of them share. Texts are plain, parts are HTML. */
export interface PageParts {
  /** Name of the service. */
  service: string;
  /** Name of the page; none for the one at `/`. */
  name?: string;
  /** Where `/` of the service is, seen from the page: it may lie below a path of a proxy, so every link is relative. */
  root: './' | '../';
  /** Part of the head: stylesheets and scripts of its own. */
  head?: string;
  /** The page itself: one element, which `#content` leads to. */
  body: string;
}

/** Pages that lead to each other: name, path, and what is found there. */
const PAGES = [
  ['Console', 'docs'],
  ['Problems', 'docs/problems'],
  ['openapi.json', 'openapi.json'],
] as const;

/** A whole page, made of files of this origin: the Content-Security-Policy allows no inline code or style. */
export function page({ service, name, root, head = '', body }: PageParts): string {
  const title = escapeHtml(name === undefined ? service : `${name} – ${service}`);
  const links = PAGES.map(([label, path]) => `<a href="${root}${path}"${current(label === name)}>${label}</a>`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" type="image/svg+xml" href="${root}docs/assets/icon.svg">
<link rel="stylesheet" href="${root}docs/assets/pages.css">
${head}
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header class="bar">
<a class="wordmark" href="${root}"${current(name === undefined)}><img src="${root}docs/assets/icon.svg" width="24" height="24" alt="">${escapeHtml(service)}</a>
<nav aria-label="Pages">${links.join('\n')}</nav>
</header>
${body}
</body>
</html>
`;
}

function current(isCurrent: boolean): string {
  return isCurrent ? ' aria-current="page"' : '';
}
