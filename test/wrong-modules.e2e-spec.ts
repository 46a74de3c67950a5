import { Body, Controller, Get, Module, Param, Post, type Type } from '@nestjs/common';
import { AppModule } from '../src/app.module.js';
import { createApp } from '../src/app.js';
import { readConfiguration } from '../src/platform/config/read-configuration.js';

@Controller('things')
class PlainParameterController {
  @Get(':id')
  readThing(@Param('id') id: string): string {
    return id;
  }
}

@Controller('things')
class UncheckedBodyController {
  @Post()
  createThing(@Body() body: object): object {
    return body;
  }
}

@Controller('things')
class RepeatedNameController {
  @Get()
  listItems(): string {
    return '';
  }
}

@Controller('items')
class RepeatedPathController {
  @Get()
  listThings(): string {
    return '';
  }
}

async function boot(controller: Type): Promise<void> {
  @Module({ imports: [AppModule], controllers: [controller] })
  class WrongModule {}

  const app = await createApp(readConfiguration({ LOG_LEVEL: 'silent' }), WrongModule);
  await app.init();
}

it.each<[string, Type, RegExp]>([
  ['a parameter without rules', PlainParameterController, /PlainParameterController\.readThing takes an input without/],
  ['a body without rules', UncheckedBodyController, /UncheckedBodyController\.createThing takes an input without/],
  ['the name of another operation', RepeatedNameController, /Two routes are named listItems/],
  ['the path of another route', RepeatedPathController, /items/],
])('a route with %s stops the start, with a message that says how to mend it', async (_case, controller, message) => {
  await expect(boot(controller)).rejects.toThrow(message);
});
