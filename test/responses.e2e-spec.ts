import { Controller, Get, HttpStatus, Logger, Module, Post, Res, StreamableFile } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { getRepositoryToken, InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { jest } from '@jest/globals';
import type { Response } from 'express';
import { Column, Entity, PrimaryColumn, Repository } from 'typeorm';
import { AppModule } from '../src/app.module.js';
import { Idempotent, MigrationsModule, newId, Operation, RequireScopes, Section, SqlMigration } from '../src/platform/index.js';
import { wrongResponses } from '../src/platform/openapi/response-check.js';
import type { ProblemBody } from './support/api.js';
import { type Service, startService } from './support/service.js';

// A module that gives its rows away as they are.

@Entity('things')
class Thing {
  @PrimaryColumn('uuid')
  declare id: string;

  @Column('text')
  declare title: string;

  @Column('text')
  declare secret: string;
}

class CreateThings1795219200005 extends SqlMigration {
  readonly statements = ['CREATE TABLE things (id uuid PRIMARY KEY, title text NOT NULL, secret text NOT NULL)'];
}

class ThingDto {
  @ApiProperty({ type: String, format: 'uuid' }) declare id: string;
  @ApiProperty() declare title: string;
}

class ShelfDto {
  @ApiProperty({ type: ThingDto, nullable: true }) declare first: ThingDto | null;
  @ApiProperty({ type: [ThingDto] }) declare things: ThingDto[];
  @ApiProperty({ type: String, format: 'date-time' }) declare seenAt: Date;
  @ApiProperty({ required: false }) declare note?: string;
}

@Section({ title: 'Things', description: 'What the tests call.' })
@Controller('things')
@RequireScopes('things')
class ThingsController {
  constructor(@InjectRepository(Thing) private readonly things: Repository<Thing>) {}

  @Get()
  @Operation({ summary: 'List things', response: [ThingDto] })
  listThings(): Promise<Thing[]> {
    return this.things.find();
  }

  @Get('shelf')
  @Operation({ summary: 'Show the shelf', response: ShelfDto })
  async showShelf(): Promise<object> {
    return { first: null, things: await this.things.find(), seenAt: new Date(0), secret: 'hidden' };
  }

  @Get('incomplete')
  @Operation({ summary: 'Show what is incomplete', response: ThingDto })
  showIncomplete(): object {
    return { title: 5 };
  }

  @Get('undocumented')
  @Operation({ summary: 'Show what is not documented' })
  showUndocumented(): object {
    return { secret: 'hidden' };
  }

  @Get('removed')
  @Operation({ summary: 'Show nothing any more', status: HttpStatus.NO_CONTENT })
  showRemoved(): object {
    return { affected: 1 };
  }

  @Get('accepted')
  @Operation({ summary: 'Show it later', response: ThingDto })
  showLater(@Res({ passthrough: true }) response: Response): object {
    response.status(HttpStatus.ACCEPTED);
    return { id: newId(), title: 'T' };
  }

  @Get('file')
  @Operation({ summary: 'Show a file', response: ThingDto })
  showFile(): StreamableFile {
    return new StreamableFile(Buffer.from('{"secret":"file"}'));
  }

  @Get('plain')
  showPlain(): object {
    return { secret: 'hidden' };
  }

  @Post()
  @Idempotent()
  @Operation({ summary: 'Create a thing', response: ThingDto, status: HttpStatus.CREATED })
  createThing(): Promise<Thing> {
    return this.things.save(this.things.create({ id: newId(), title: 'T', secret: 'hidden' }));
  }
}

@Module({
  imports: [AppModule, TypeOrmModule.forFeature([Thing]), MigrationsModule.forFeature([CreateThings1795219200005])],
  controllers: [ThingsController],
})
class ThingsModule {}

const shown = { id: expect.any(String) as string, title: 'T' };

let service: Service;

const get = <Body = ProblemBody>(path: string) => service.api.call<Body>('GET', `/v1/things${path}`);
const post = (path: string, key: string) =>
  service.api.call<object>('POST', `/v1/things${path}`, { headers: { 'Idempotency-Key': key } });

describe('in production', () => {
  beforeAll(async () => {
    service = await startService({ CHECK_RESPONSES: 'false' }, undefined, ThingsModule);
    expect((await post('', 'first')).status).toBe(201);
  });

  afterAll(() => service.stop());

  it('contain the documented properties and no other column, on any level', async () => {
    expect((await get('')).body).toEqual([shown]);
    expect((await get('/shelf')).body).toEqual({ first: null, things: [shown], seenAt: '1970-01-01T00:00:00.000Z' });
  });

  it('are not changed if they are files or not documented', async () => {
    expect((await get('/file')).body).toEqual({ secret: 'file' });
    expect((await get('/plain')).body).toEqual({ secret: 'hidden' });
  });
});

describe('with CHECK_RESPONSES', () => {
  beforeAll(async () => {
    service = await startService({}, undefined, ThingsModule);
    const things = service.app.get<Repository<Thing>>(getRepositoryToken(Thing));
    await things.insert({ id: newId(), title: 'T', secret: 'hidden' });
  });

  afterAll(() => service.stop());

  const undocumented = 'is not documented. Document it with @ApiProperty(), or leave it out.';
  const mismatch = 'Respond with that, or change what is documented.';

  it.each<[string, string, string[]]>([
    ['listThings', '', [`/*/secret ${undocumented}`]],
    ['showShelf', '/shelf', [`/secret ${undocumented}`, `/things/*/secret ${undocumented}`]],
    [
      'showIncomplete',
      '/incomplete',
      [`The body must have required property 'id'. ${mismatch}`, `/title must be string. ${mismatch}`],
    ],
    ['showUndocumented', '/undocumented', [`The body must be null. ${mismatch}`]],
    ['showLater', '/accepted', ['Its status is not documented.']],
  ])('are 500 if they do not match the documentation, and the log names the property: %s', async (name, path, faults) => {
    const log = jest.spyOn(Logger.prototype, 'error');
    const { status, body } = await get(path);
    expect([status, JSON.stringify(body).includes('secret')]).toEqual([500, false]);
    const title = `ThingsController.${name} responds ${name === 'showLater' ? 202 : 200}, not as documented:`;
    const message = [title, ...faults].join('\n- ');
    expect(log).toHaveBeenCalledWith({ msg: 'request failed', err: expect.objectContaining({ message }) as Error });
    log.mockRestore();
    expect(wrongResponses.delete(message)).toBe(true);
    expect([...wrongResponses]).toEqual([]);
  });

  it('are sent if they match the documentation, or have none', async () => {
    expect((await get('/removed')).status).toBe(204);
    expect((await get('/file')).body).toEqual({ secret: 'file' });
    expect((await get('/plain')).body).toEqual({ secret: 'hidden' });
  });
});
