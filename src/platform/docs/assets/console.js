// Starts Swagger UI on this service's own document, in the colours that the system asks for.

const root = new URL('.', document.baseURI);

/** Calls go to where this page is, which may be below a path of a proxy that the document knows nothing of. */
const OwnServer = () => ({
  statePlugins: {
    spec: {
      wrapActions: {
        updateJsonSpec: (update) => (spec) => update({ ...spec, servers: [{ url: root.pathname.replace(/(.)\/$/, '$1') }] }),
      },
    },
  },
  // With a single server there is nothing to choose.
  wrapComponents: { ServersContainer: () => () => null },
});

/** Leads from an answer that is a problem to the explanation of its type. */
const ExplainedProblems = () => ({
  wrapComponents: {
    responseBody:
      (ResponseBody, { React: { createElement, Fragment } }) =>
      (properties) => {
        const problem = problemOf(properties);
        const link = problem && createElement('a', { href: problem.href }, `What “${problem.title}” means, and how to fix it`);
        return createElement(
          Fragment,
          null,
          createElement(ResponseBody, properties),
          link && createElement('p', { className: 'problem-link' }, link),
        );
      },
  },
});

/** The title of a problem and where it is explained; undefined for other answers, and problems of unknown types. */
function problemOf({ content, contentType }) {
  if (!contentType?.startsWith('application/problem+json')) {
    return undefined;
  }
  const { type, title } = JSON.parse(content);
  const [, name] = /^\/docs\/problems#([\w-]+)$/.exec(type) ?? [];
  return name && { title, href: new URL(`docs/problems#${name}`, root).href };
}

const dark = matchMedia('(prefers-color-scheme: dark)');
const followSystem = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followSystem);
followSystem();

globalThis.SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  plugins: [OwnServer, ExplainedProblems],
  deepLinking: true,
  displayRequestDuration: true,
  persistAuthorization: true,
  tryItOutEnabled: true,
  syntaxHighlight: { theme: 'tomorrow-night' },
  // Below the operations, folded: the schemas are shown with each, too.
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
});
