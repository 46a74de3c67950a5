import { Body, Controller, Get, HttpStatus, Module, Param, Post, Query } from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { Column, Entity, PrimaryColumn, Repository } from 'typeorm';
import { ItemsModule } from '../../../src/items/items.module.js';
import {
  AnswerOf,
  Bool,
  defineFilter,
  Idempotent,
  Integer,
  Lists,
  MigrationsModule,
  mapPage,
  notFound,
  OneOf,
  Operation,
  type Page,
  PageOf,
  PageQueryOf,
  Problem,
  RequireScopes,
  Section,
  SqlMigration,
  Text,
  Timestamp,
  Uuid,
} from '../../../src/platform/index.js';
import { PlatformModule } from '../../../src/platform/platform.module.js';

// A module of another team, with a property for every rule that the platform has, once needed and once optional, and one of a path.

const example = '0190163d-8694-739b-aea5-966c26f8ad91';
const moment = '2026-01-31T12:00:00.000Z';
const description = 'For the fuzz.';
const KINDS = ['letter', 'box', 'Box, large'] as const;

@Entity('parcels')
export class Parcel {
  @PrimaryColumn('uuid') declare id: string;
  @Column('text') declare label: string;
  @Column('text', { nullable: true }) declare note: string | null;
  @Column('integer') declare weight: number;
  @Column('integer', { nullable: true }) declare value: number | null;
  @Column('text') declare kind: (typeof KINDS)[number];
  @Column('boolean') declare fragile: boolean;
  @Column('uuid') declare sender: string;
  @Column('uuid', { nullable: true }) declare receiver: string | null;
  @Column('timestamptz') declare sent: Date;
  @Column('timestamptz', { nullable: true }) declare arrived: Date | null;
}

class CreateParcels1767225900000 extends SqlMigration {
  readonly statements = [
    `CREATE TABLE parcels (
      id uuid PRIMARY KEY,
      label text NOT NULL,
      note text,
      weight integer NOT NULL,
      value integer,
      kind text NOT NULL,
      fragile boolean NOT NULL,
      sender uuid NOT NULL,
      receiver uuid,
      sent timestamptz NOT NULL,
      arrived timestamptz
    )`,
  ];
}

const parcelFilter = defineFilter(
  Parcel,
  {
    kind: { type: 'enum', values: KINDS, unindexed: 'the parcels are few' },
    fragile: { type: 'bool', unindexed: 'the parcels are few' },
    weight: { type: 'int', unindexed: 'the parcels are few' },
    createdAt: { type: 'creationTime' },
  },
  { 'Fragile letters': 'kind == "letter" && fragile', 'Heavy ones': 'weight >= 1000' },
);

class CreateParcelDto {
  @Text({ description, example: 'Bell', maximumLength: 20, notBlank: true }) declare readonly label: string;
  @Text({ description, example: 'Mind it.', maximumLength: 50, optional: true }) declare readonly note?: string | null;
  @Integer({ description, example: 5, minimum: -5, maximum: 2_147_483_647 }) declare readonly weight: number;
  @Integer({ description, example: 5, minimum: 0, maximum: 9, optional: true }) declare readonly value?: number | null;
  @OneOf({ description, example: 'box', values: KINDS }) declare readonly kind: Parcel['kind'];
  @Bool({ description, example: true }) declare readonly fragile: boolean;
  @Uuid({ description, example }) declare readonly sender: string;
  @Uuid({ description, example, optional: true }) declare readonly receiver?: string | null;
  @Timestamp({ description, example: moment }) declare readonly sent: Date;
  @Timestamp({ description, example: moment, optional: true }) declare readonly arrived?: Date | null;
}

class ParcelDto extends AnswerOf(CreateParcelDto) {}
class ParcelPage extends PageOf(ParcelDto) {}
class ParcelsQuery extends PageQueryOf(parcelFilter) {}

class ParcelPath {
  @Uuid({ description, example }) declare readonly id: string;
}

@Section({ title: 'Parcels', description: 'What is sent, with every rule that the platform has.' })
@Controller('parcels')
@RequireScopes('parcels')
class ParcelsController {
  constructor(
    @InjectRepository(Parcel) private readonly parcels: Repository<Parcel>,
    private readonly lists: Lists,
  ) {}

  @Get()
  @Operation({ summary: 'List parcels', answer: ParcelPage })
  async listParcels(@Query() query: ParcelsQuery): Promise<Page<ParcelDto>> {
    return mapPage(await this.lists.findPage(this.parcels, query), ParcelDto.from);
  }

  @Get(':id')
  @Operation({ summary: 'Get a parcel', answer: ParcelDto, problems: [notFound] })
  async getParcel(@Param() { id }: ParcelPath): Promise<ParcelDto> {
    const parcel = await this.parcels.findOneBy({ id });
    if (!parcel) {
      throw new Problem(notFound, 'There is no such parcel.');
    }
    return ParcelDto.from(parcel);
  }

  @Post()
  @Idempotent()
  @Operation({ summary: 'Create a parcel', answer: ParcelDto, status: HttpStatus.CREATED })
  async createParcel(@Body() body: CreateParcelDto): Promise<ParcelDto> {
    return ParcelDto.from(await this.lists.add(this.parcels, body));
  }
}

@Module({
  imports: [
    PlatformModule,
    ItemsModule,
    TypeOrmModule.forFeature([Parcel]),
    MigrationsModule.forFeature([CreateParcels1767225900000]),
  ],
  controllers: [ParcelsController],
})
export class ParcelsModule {}
