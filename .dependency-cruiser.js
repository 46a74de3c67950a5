/** Folders of the platform by layer, from the lowest: a file imports only from its own folder and from lower layers. */
export const LAYERS = [
  ['service', 'time', 'ids'],
  ['errors'],
  ['problems'],
  ['requests', 'routes'],
  ['validation', 'preconditions'],
  ['config', 'bodies'],
  ['tracing'],
  ['observability'],
  ['database', 'throttling'],
  ['auth'],
  ['idempotency', 'http'],
  ['openapi', 'health'],
  ['responses', 'lists', 'docs'],
  ['boot', 'doctor'],
];

const NOT_TESTS = String.raw`(?<!\.spec)\.ts$`;

const folder = (/** @type {readonly string[]} */ names) => `^src/platform/(${names.join('|')})/`;

/**
 * Imports go one way: application → features → public API of the platform. In the platform, a layer imports from lower layers.
 *
 * @type {import('dependency-cruiser').IConfiguration}
 */
export default {
  forbidden: [
    {
      name: 'no-cycles',
      comment:
        'These files import each other. Move what both need into a third file. Only entities may refer to each other.',
      severity: 'error',
      from: {},
      to: { circular: true, via: { pathNot: '\\.entity\\.ts$' } },
    },
    {
      name: 'features-use-the-index',
      comment: 'Features import only src/platform/index.ts of the platform. Export what they need there, with TSDoc.',
      severity: 'error',
      from: { path: '^src/(?!platform/)[^/]+/' },
      to: { path: '^src/platform/', pathNot: '^src/platform/index\\.ts$' },
    },
    {
      name: 'features-stand-alone',
      comment:
        'From another feature, import only its module and the service that this exports. Move other shared code to the platform.',
      severity: 'error',
      from: { path: '^src/(?!platform/)([^/]+)/' },
      to: { path: '^src/(?!platform/)[^/]+/', pathNot: '^src/(?:$1/|[^/]+/[^/]+\\.(?:module|service)\\.ts$)' },
    },
    {
      name: 'features-only-in-folders',
      comment: 'Files directly in src start the application; features do not import them. Move shared code to the platform.',
      severity: 'error',
      from: { path: '^src/(?!platform/)[^/]+/' },
      to: { path: '^src/[^/]+\\.ts$' },
    },
    {
      name: 'platform-knows-no-feature',
      comment: 'The platform does not import features. Let the feature register itself with the platform.',
      severity: 'error',
      from: { path: '^src/platform/' },
      to: { path: '^src/(?!platform/)' },
    },
    {
      name: 'platform-avoids-its-index',
      comment: 'Files of the platform import each other directly, not through src/platform/index.ts.',
      severity: 'error',
      from: { path: '^src/platform/' },
      to: { path: '^src/platform/index\\.ts$' },
    },
    ...LAYERS.map((folders, layer) => ({
      name: 'layers',
      comment: `A folder imports only from lower layers (LAYERS in .dependency-cruiser.js). Move what both need to a lower layer.`,
      severity: 'error',
      from: { path: folder(folders) + '.*' + NOT_TESTS },
      to: { path: folder(LAYERS.slice(layer).flat()), pathNot: '^src/platform/$1/' },
    })),
    {
      name: 'folders-have-a-layer',
      comment: 'Add the folder to LAYERS in .dependency-cruiser.js, above the folders that it imports.',
      severity: 'error',
      from: { path: '^src/platform/[^/]+/', pathNot: folder(LAYERS.flat()) },
      to: {},
    },
    {
      name: 'opentelemetry-on-demand',
      comment:
        'Without a collector, only the API of OpenTelemetry is loaded. Import the SDK in src/platform/tracing/start-sdk.ts only.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/platform/tracing/start-sdk\\.ts$' },
      to: {
        path: '(node_modules/@opentelemetry/(?!api/)|^src/platform/tracing/start-sdk\\.ts$)',
        dynamic: false,
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'pure-logic',
      comment: 'Pure logic does not import frameworks, so that it can be tested alone.',
      severity: 'error',
      from: {
        path: '^src/platform/(lists/cursor|lists/filter/(?!define-filter)[^/.]+|ids/id|preconditions/entity-tags|throttling/sliding-window|auth/token-format|errors/redaction)\\.ts$',
      },
      to: { path: 'node_modules/(@nestjs|typeorm|express)/' },
    },
    {
      name: 'declared-dependencies',
      comment:
        'Production code imports only packages in dependencies of package.json: npm install --save-prod --save-exact <package>.',
      severity: 'error',
      from: { path: '^src/', pathNot: '\\.spec\\.ts$' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-orphans',
      comment: 'No file imports this one. Delete it.',
      severity: 'error',
      // Browsers load files in assets; the compiler reads declarations.
      from: { orphan: true, pathNot: '(\\.(spec|d)\\.ts|/assets/[^/]+\\.js)$' },
      to: {},
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'types', 'default'] },
  },
};
