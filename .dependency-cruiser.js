/** Folders of the platform, from the ground up: a file imports only from its own folder and from floors below. */
export const FLOORS = [
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
 * Arrows run one way: app → features → the public API of the platform, and inside the platform from each floor to those below.
 *
 * @type {import('dependency-cruiser').IConfiguration}
 */
export default {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'A cycle is one module in several files. Move what both need into a third file. Entities may refer to each other.',
      severity: 'error',
      from: {},
      to: { circular: true, via: { pathNot: '\\.entity\\.ts$' } },
    },
    {
      name: 'features-use-the-door',
      comment: 'A feature may use what src/platform/index.ts exports, and nothing behind it. Export it there, with TSDoc.',
      severity: 'error',
      from: { path: '^src/(?!platform/)[^/]+/' },
      to: { path: '^src/platform/', pathNot: '^src/platform/index\\.ts$' },
    },
    {
      name: 'features-stand-alone',
      comment:
        'Of another feature, import the module and the service that it exports. What else both need belongs to the platform.',
      severity: 'error',
      from: { path: '^src/(?!platform/)([^/]+)/' },
      to: { path: '^src/(?!platform/)[^/]+/', pathNot: '^src/(?:$1/|[^/]+/[^/]+\\.(?:module|service)\\.ts$)' },
    },
    {
      name: 'features-only-in-folders',
      comment: 'In src itself is what starts the application, and nothing that features use. Give a feature its folder.',
      severity: 'error',
      from: { path: '^src/(?!platform/)[^/]+/' },
      to: { path: '^src/[^/]+\\.ts$' },
    },
    {
      name: 'platform-knows-no-feature',
      comment: 'Features register into the platform; the platform names none.',
      severity: 'error',
      from: { path: '^src/platform/' },
      to: { path: '^src/(?!platform/)' },
    },
    {
      name: 'platform-avoids-its-door',
      comment: "Inside the platform, import the concern's file directly.",
      severity: 'error',
      from: { path: '^src/platform/' },
      to: { path: '^src/platform/index\\.ts$' },
    },
    ...FLOORS.map((folders, floor) => ({
      name: 'floors',
      comment: `A folder imports only from floors below its own (FLOORS in .dependency-cruiser.js). Move what both need further down.`,
      severity: 'error',
      from: { path: folder(folders) + '.*' + NOT_TESTS },
      to: { path: folder(FLOORS.slice(floor).flat()), pathNot: '^src/platform/$1/' },
    })),
    {
      name: 'folders-have-a-floor',
      comment: 'Add the folder to FLOORS in .dependency-cruiser.js, above all that it imports.',
      severity: 'error',
      from: { path: '^src/platform/[^/]+/', pathNot: folder(FLOORS.flat()) },
      to: {},
    },
    {
      name: 'opentelemetry-on-demand',
      comment:
        'Without a collector only the API of OpenTelemetry is loaded: the SDK belongs into src/platform/tracing/start-sdk.ts.',
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
      comment: 'Logic that can be tested by itself knows nothing of frameworks.',
      severity: 'error',
      from: {
        path: '^src/platform/(lists/cursor|lists/filter/(?!define-filter)[^/.]+|ids/id|preconditions/entity-tags|throttling/sliding-window|auth/token-format|errors/redaction)\\.ts$',
      },
      to: { path: 'node_modules/(@nestjs|typeorm|express)/' },
    },
    {
      name: 'declared-dependencies',
      comment: 'What runs in production is declared in dependencies.',
      severity: 'error',
      from: { path: '^src/', pathNot: '\\.spec\\.ts$' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-orphans',
      comment: 'Nothing uses this file: delete it.',
      severity: 'error',
      // Browsers load what is in folders of assets, and the compiler what only declares.
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
