// Starts Swagger UI on the document of this service, in the colors of the system.

const root = new URL('.', document.baseURI);

/** The sections of the description after the first one, in Markdown. */
let notes = '';

/**
 * Sends requests to the address of this page, which can be below a path of a proxy, and shows the first section of the description
 * above the operations, the others below.
 */
const OwnDocument = ({ React: { createElement, Fragment }, getComponent }) => ({
  statePlugins: {
    spec: {
      wrapActions: {
        updateJsonSpec: (update) => (spec) => {
          const { title, version, summary, description } = spec.info;
          const [first, ...others] = description.split(/^(?=## )/m);
          notes = others.join('');
          const info = { title, version, summary, description: first };
          return update({ ...spec, info, servers: [{ url: root.pathname.replace(/(.)\/$/, '$1') }] });
        },
      },
    },
  },
  wrapComponents: {
    // Hides the choice of a server: there is only one.
    ServersContainer: () => () => null,
    Models: (Models) => (properties) => {
      const text = createElement(getComponent('Markdown', true), { source: notes });
      return createElement(
        Fragment,
        null,
        createElement('div', { className: 'notes' }, text),
        createElement(Models, properties),
      );
    },
  },
});

/** Lists the documented errors in one line each; their body and all headers once, folded. */
const CompactResponses = ({ React: { createElement, Fragment, useMemo } }) => ({
  wrapComponents: {
    responses: (Responses) => (properties) => {
      const { listed, common } = useMemo(() => compact(properties.responses), [properties.responses]);
      return createElement(
        Fragment,
        null,
        createElement(Responses, { ...properties, responses: listed }),
        createElement(
          'details',
          { className: 'common' },
          createElement('summary', null, 'Headers, and the body of errors'),
          createElement(Responses, { ...properties, responses: common, tryItOutResponse: null }),
        ),
      );
    },
  },
});

/** @param responses - of an operation by status, an Immutable Map; every operation has problems */
function compact(responses) {
  const problems = responses.filter((_response, status) => Number(status) >= 400);
  const first = problems.first();
  const names = responses
    .toList()
    .flatMap((response) => response.get('headers').keySeq())
    .toOrderedSet();
  const headers = names.toOrderedMap().map((name) => {
    const having = responses.filter((response) => response.hasIn(['headers', name]));
    const statuses = having.size === responses.size ? '' : ` With ${having.keySeq().join(', ')}.`;
    return having
      .first()
      .getIn(['headers', name])
      .update('description', (text = '') => text + statuses);
  });
  const listed = responses.map((response, status) =>
    problems.has(status)
      ? first.clear().set('description', withLinks(response.get('description')))
      : response.delete('headers'),
  );
  const common = responses
    .clear()
    .set('Headers', first.clear().set('headers', headers))
    .set('Errors', first.delete('headers').set('description', 'The body of every error, with an example:'));
  return { listed, common };
}

/** The titles of problems as links to their explanations. */
function withLinks(description) {
  return description.replaceAll(
    /(, or )?([^(]+) \(`[^`]*\/(docs\/problems#[^`]+)`\)/g,
    (_match, or = '', title, path) => `${or}[${title}](${root}${path})`,
  );
}

/** Shows the status and body of a response before the request, and scrolls to them. */
const ResponseFirst = ({ React: { createElement, useEffect, useRef } }) => ({
  wrapComponents: {
    liveResponse: (LiveResponse) => (properties) => {
      const { response, path, method, specSelectors, getComponent } = properties;
      const element = useRef(null);
      const id = response.getIn(['headers', 'x-request-id']);
      useEffect(() => {
        if (id === undefined || !seen.has(id)) {
          seen.add(id);
          element.current.scrollIntoView({ block: 'nearest' });
        }
        // Texts that scroll must be reachable by keyboard.
        element.current.querySelectorAll('pre').forEach((text) => (text.tabIndex = 0));
      }, [id]);
      const request = specSelectors.requestFor(path, method);
      const isSuccess = Number(response.get('status')) < 400;
      const withoutCurl = (name, ...rest) => (name === 'curl' ? () => null : getComponent(name, ...rest));
      return createElement(
        'div',
        { className: 'live-response' },
        createElement(
          'div',
          { ref: element, className: isSuccess ? 'succeeded' : 'failed' },
          createElement(LiveResponse, { ...properties, getComponent: withoutCurl }),
        ),
        createElement(getComponent('curl', true), { request }),
        createElement('h4', null, 'Request URL'),
        createElement('pre', { className: 'microlight' }, request.get('url')),
      );
    },
  },
});

/** Request ids of responses that were scrolled to: an operation that is opened again renders its response again. */
const seen = new Set();

/** Adds a link to the explanation of a problem. */
const ExplainedProblems = ({ React: { createElement, Fragment } }) => ({
  wrapComponents: {
    responseBody: (ResponseBody) => (properties) => {
      const problem = problemOf(properties);
      const link = problem && createElement('a', { href: problem.href }, `What “${problem.title}” means, and how to fix it`);
      return createElement(
        Fragment,
        null,
        link && createElement('p', { className: 'problem-link' }, link),
        createElement(ResponseBody, properties),
      );
    },
  },
});

/** The title of a problem and the address of its explanation; undefined for other responses, and problems of unknown types. */
function problemOf({ content, contentType }) {
  if (!contentType?.startsWith('application/problem+json')) {
    return undefined;
  }
  const { type, title } = JSON.parse(content);
  const [, name] = /\/docs\/problems#([\w-]+)$/.exec(type) ?? [];
  return name && { title, href: new URL(`docs/problems#${name}`, root).href };
}

const dark = matchMedia('(prefers-color-scheme: dark)');
const followSystem = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followSystem);
followSystem();

globalThis.SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  plugins: [OwnDocument, CompactResponses, ResponseFirst, ExplainedProblems],
  deepLinking: true,
  displayRequestDuration: true,
  persistAuthorization: true,
  tryItOutEnabled: true,
  syntaxHighlight: { theme: 'tomorrow-night' },
  // Below the operations, folded: each operation shows its schemas, too.
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
});
