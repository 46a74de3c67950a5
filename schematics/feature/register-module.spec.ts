import { readFileSync } from 'node:fs';
import { registerModule } from './register-module.ts';

const before = `import { Module } from '@nestjs/common';
import { ItemsModule } from './items/items.module.js';
import { PlatformModule } from './platform/platform.module.js';

/** The platform and the features on it. */
@Module({
  imports: [PlatformModule, ItemsModule],
})
export class AppModule {}
`;

const register = (source: string, name: string) =>
  registerModule(source, `${name}Module`, `${name.toLowerCase()}/${name.toLowerCase()}.module.js`);

it('adds a line in alphabetical order, and the module at the end', () => {
  const after = ['Orders', 'Apples', 'Widgets', 'Zebras'].reduce(register, before);
  expect(after).toBe(`import { Module } from '@nestjs/common';
import { ApplesModule } from './apples/apples.module.js';
import { ItemsModule } from './items/items.module.js';
import { OrdersModule } from './orders/orders.module.js';
import { PlatformModule } from './platform/platform.module.js';
import { WidgetsModule } from './widgets/widgets.module.js';
import { ZebrasModule } from './zebras/zebras.module.js';

/** The platform and the features on it. */
@Module({
  imports: [PlatformModule, ItemsModule, OrdersModule, ApplesModule, WidgetsModule, ZebrasModule],
})
export class AppModule {}
`);
});

it('takes a list that was broken into lines', () => {
  const broken = before.replace('[PlatformModule, ItemsModule]', '[\n    PlatformModule,\n    ItemsModule,\n  ]');
  expect(register(broken, 'Orders')).toContain('imports: [PlatformModule, ItemsModule, OrdersModule],');
});

it('takes that of the service', () => {
  const source = readFileSync('src/app.module.ts', 'utf8');
  expect(register(source, 'Orders').split('\n')).toHaveLength(source.split('\n').length + 1);
});

it.each([
  ['a module with options', before.replace('ItemsModule]', 'ItemsModule.forRoot()]')],
  ['a comment among the modules', before.replace('ItemsModule]', 'ItemsModule /* first */]')],
  ['modules of another order', before.replace('[PlatformModule, ItemsModule]', '[...features]')],
  ['providers, too', before.replace('],\n})', '],\n  providers: [],\n})')],
  ['no imports', before.replace("import { Module } from '@nestjs/common';", '').replaceAll(/^import.*\n/gm, '')],
  ['an import of another kind', `import 'reflect-metadata';\n${before}`],
  ['another class', before.replace('AppModule', 'RootModule')],
  ['nothing', ''],
])('refuses %s', (_case, source) => {
  expect(() => register(source, 'Orders')).toThrow('src/app.module.ts is not as expected');
});
