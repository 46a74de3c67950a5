import {
  BadRequestException,
  Body,
  Controller,
  Delete,
  Get,
  Header,
  Headers,
  HttpCode,
  HttpStatus,
  Param,
  Post,
  Query,
  Sse,
} from '@nestjs/common';
import { type MessageEvent, Module, ParseFilePipe, StreamableFile, UploadedFile, UseInterceptors } from '@nestjs/common';
import { FileInterceptor } from '@nestjs/platform-express';
import { ApiBody, ApiHeader, ApiOkResponse, ApiOperation, ApiProperty, ApiSchema } from '@nestjs/swagger';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { Type } from 'class-transformer';
import { ArrayMaxSize, IsArray, IsOptional, ValidateNested } from 'class-validator';
import { interval, map, type Observable } from 'rxjs';
import { Column, Entity, PrimaryColumn, Repository } from 'typeorm';
import { ItemsModule } from '../../src/items/items.module.js';
import { PlatformModule } from '../../src/platform/platform.module.js';
import {
  ResponseOf,
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
  Public,
  RequireScopes,
  SafeToRetry,
  ApiTag,
  SqlMigration,
  Text,
  UseBodyParser,
  Uuid,
} from '../../src/platform/index.js';

// A module of another team, with every kind of body, parameter and response.

const description = 'For the tests.';
const example = '0190163d-8694-739b-aea5-966c26f8ad91';
const SIZES = ['small', 'large'] as const;
const CURRENCIES = ['EUR', 'USD'];

class LineDto {
  @Text({ description, example: 'Bell', maximumLength: 20 }) declare readonly name: string;
  @Integer({ description, example: 2, minimum: 1, maximum: 9 }) declare readonly count: number;
  @OneOf({ description, example: 'small', values: SIZES, optional: true }) declare readonly size?: string | null;
}

class AddressDto {
  @Text({ description, example: 'High Street', maximumLength: 20 }) declare readonly street: string;
}

@ApiSchema({ name: 'NewOrder' })
class CreateOrderDto {
  @Text({ description, example: 'Ada', maximumLength: 30, notBlank: true }) declare readonly customer: string;

  @ApiProperty({ description, type: [LineDto], maxItems: 3, example: [{ name: 'Bell', count: 2 }] })
  @IsArray()
  @ArrayMaxSize(3)
  @ValidateNested({ each: true })
  @Type(() => LineDto)
  declare readonly lines: LineDto[];

  @ApiProperty({ description, type: AddressDto, required: false, nullable: true, example: { street: 'High Street' } })
  @IsOptional()
  @ValidateNested()
  @Type(() => AddressDto)
  declare readonly address?: AddressDto | null;
}

@Entity('orders')
class Order {
  @PrimaryColumn('uuid') declare id: string;
  @Column('text') declare customer: string;
  @Column('jsonb') declare lines: LineDto[];
  @Column('jsonb', { nullable: true }) declare address: AddressDto | null;
}

class CreateOrders1767225800002 extends SqlMigration {
  readonly statements = [
    'CREATE TABLE orders (id uuid PRIMARY KEY, customer text NOT NULL, lines jsonb NOT NULL, address jsonb)',
  ];
}

@ApiSchema({ name: 'Order' })
class OrderDto extends ResponseOf(CreateOrderDto) {}
class OrderPage extends PageOf(OrderDto) {}
class OrdersQuery extends PageQueryOf(defineFilter(Order, { createdAt: { type: 'creationTime' } }, {})) {}

class OrderPath {
  @Uuid({ description, example }) declare readonly id: string;
}

class NoteDto {
  @Text({ description, example: 'Ring twice.', maximumLength: 50 }) declare readonly note: string;
  @Integer({ description, example: 5, minimum: 1, maximum: 9 }) @Type(() => Number) declare readonly stars: number;
}

class ReceiptDto extends NoteDto {
  @ApiProperty({ type: 'string', format: 'binary', description }) declare readonly receipt: unknown;
}

const textOf = (type: string, text: string) => {
  const content = { [type]: { schema: { type: 'string' as const }, example: text } };
  return { description, content };
};

@ApiTag({ name: 'Orders', description })
@Controller('orders')
@RequireScopes('orders')
class OrdersController {
  constructor(
    @InjectRepository(Order) private readonly orders: Repository<Order>,
    private readonly lists: Lists,
  ) {}

  @Get()
  @ApiHeader({ name: 'X-Currency', required: false, enum: CURRENCIES })
  @Operation({ summary: 'List orders', response: OrderPage })
  async listOrders(@Query() query: OrdersQuery, @Headers('X-Currency') currency = 'EUR'): Promise<Page<OrderDto>> {
    if (!CURRENCIES.includes(currency)) throw new BadRequestException('X-Currency must be EUR or USD.');
    return mapPage(await this.lists.findPage(this.orders, query), OrderDto.from);
  }

  @Post()
  @Idempotent()
  @Operation({ summary: 'Create an order', response: OrderDto, status: HttpStatus.CREATED })
  async createOrder(@Body() body: CreateOrderDto): Promise<OrderDto> {
    return OrderDto.from(await this.lists.insert(this.orders, Object.assign(body, { address: body.address ?? null })));
  }

  @Get('export')
  @ApiOperation({ summary: 'Export orders' })
  @ApiOkResponse(textOf('text/csv', 'customer\r\nAda\r\n'))
  exportOrders(): StreamableFile {
    return new StreamableFile(Buffer.from('customer\r\n'), { type: 'text/csv' });
  }

  @Get('count')
  @Header('Content-Type', 'text/plain')
  @ApiOperation({ summary: 'Count orders' })
  @ApiOkResponse(textOf('text/plain', '5'))
  async countOrders(): Promise<string> {
    return String(await this.orders.count());
  }

  @Get('logo')
  @ApiOperation({ summary: 'Show the logo' })
  @ApiOkResponse({ description, content: { 'image/png': { schema: { type: 'string', format: 'binary' } } } })
  showLogo(): StreamableFile {
    return new StreamableFile(Buffer.from([0x89, 0x50, 0xff, 0]), { type: 'image/png' });
  }

  @Sse('events')
  @ApiOperation({ summary: 'Follow orders' })
  @ApiOkResponse({ description, content: { 'text/event-stream': { schema: { type: 'string' } } } })
  followOrders(): Observable<MessageEvent> {
    return interval(50).pipe(map((order) => ({ data: { order } })));
  }

  @Get(':id')
  @Operation({ summary: 'Get an order', response: OrderDto })
  async getOrder(@Param() { id }: OrderPath): Promise<OrderDto> {
    const order = await this.orders.findOneBy({ id });
    if (!order) throw new Problem(notFound, 'There is no order with this id.');
    return OrderDto.from(order);
  }

  @Delete('drafts')
  @Operation({ summary: 'Delete drafts', status: HttpStatus.NO_CONTENT })
  deleteDrafts(): void {}

  @Post('checks')
  @SafeToRetry()
  @HttpCode(HttpStatus.ACCEPTED)
  @Operation({ summary: 'Check orders', status: HttpStatus.ACCEPTED })
  checkOrders(): void {}

  @Post('events')
  @Public()
  @UseBodyParser('json', { validate: false })
  @ApiBody({ schema: {}, examples: { Paid: { value: { type: 'paid' } } } })
  @Operation({ summary: 'Report what happened', status: HttpStatus.NO_CONTENT })
  reportEvent(@Body() _event: object): void {}

  @Post('import')
  @Idempotent()
  @UseBodyParser('json', { items: CreateOrderDto })
  @Operation({ summary: 'Import orders', response: [OrderDto], status: HttpStatus.CREATED })
  async importOrders(@Body() rows: CreateOrderDto[]): Promise<OrderDto[]> {
    const orders = [];
    for (const row of rows)
      orders.push(await this.lists.insert(this.orders, Object.assign(row, { address: row.address ?? null })));
    return orders.map(OrderDto.from);
  }

  @Post('notes')
  @SafeToRetry()
  @UseBodyParser('urlencoded')
  @Operation({ summary: 'Leave a note', response: NoteDto })
  leaveNote(@Body() body: NoteDto): NoteDto {
    return body;
  }

  @Post('texts')
  @SafeToRetry()
  @UseBodyParser('text')
  @Operation({ summary: 'Send a text', status: HttpStatus.NO_CONTENT })
  sendText(@Body() _text: string): void {}

  @Post('scans')
  @SafeToRetry()
  @UseBodyParser('raw', { type: 'image/*' })
  @Operation({ summary: 'Send a scan', status: HttpStatus.NO_CONTENT })
  sendScan(@Body() _bytes: Buffer): void {}

  @Post('receipts')
  @SafeToRetry()
  @UseBodyParser('multipart')
  @UseInterceptors(FileInterceptor('receipt'))
  @ApiBody({ type: ReceiptDto })
  @Operation({ summary: 'Send a receipt', response: NoteDto })
  sendReceipt(@UploadedFile(new ParseFilePipe()) _receipt: object, @Body() { note, stars }: NoteDto): NoteDto {
    return { note, stars };
  }
}

@Module({
  imports: [
    PlatformModule,
    ItemsModule,
    TypeOrmModule.forFeature([Order]),
    MigrationsModule.forFeature([CreateOrders1767225800002]),
  ],
  controllers: [OrdersController],
})
export class OrdersModule {}
