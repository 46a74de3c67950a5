/** The two places of `src/app.module.ts` that name a feature. */
const importLine = /^import \{ [\w, ]+ \} from '(?<from>[^']+)';\n/gm;
const importsOfModule = /^ {2}imports: \[(?<modules>[\w,\s]+)\],\n\}\)\nexport class AppModule \{\}$/m;

/**
 * Adds a module to the features of the application.
 *
 * @param source - of `src/app.module.ts`
 * @param name - of the module's class
 * @param file - that has it, relative to `src`
 * @returns the new source, as long in its lines as it may come
 * @throws Error when the source is not of the shape that this knows
 */
export function registerModule(source: string, name: string, file: string): string {
  const modules = importsOfModule.exec(source)?.groups?.['modules'];
  const imports = [...source.matchAll(importLine)];
  const last = imports.at(-1);
  if (modules === undefined || last === undefined || source.split(/^import\b/m).length - 1 !== imports.length) {
    throw new Error(
      'src/app.module.ts is not as expected: one import a line, then @Module({ imports: [PlatformModule, …] }) with class names ' +
        'alone. Restore that shape.',
    );
  }
  const line = `import { ${name} } from './${file}';\n`;
  const next = imports.find(({ groups }) => (groups?.['from'] ?? '') > `./${file}` && groups?.['from']?.startsWith('./'));
  const at = next?.index ?? last.index + last[0].length;
  const registered = source.slice(0, at) + line + source.slice(at);
  const list = [...modules.split(',').map((module) => module.trim()), name].filter(Boolean).join(', ');
  return registered.replace(importsOfModule, (text) => text.replace(modules, list));
}
