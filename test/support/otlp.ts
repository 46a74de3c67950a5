import { BinaryReader } from '@bufbuild/protobuf/wire';

/** A span as a collector gets it. */
export interface ExportedSpan {
  traceId: string;
  spanId: string;
  /** Empty for the first span of a trace. */
  parentId: string;
  traceState: string;
  name: string;
  kind: 'internal' | 'server' | 'client' | 'other';
  attributes: Record<string, unknown>;
  isFailed: boolean;
  /** What is said of the failure. */
  message: string;
  /** Of the process, by the names of OpenTelemetry's conventions. */
  resource: Record<string, unknown>;
  /** In nanoseconds since 1970. */
  start: bigint;
  end: bigint;
}

const KINDS: Readonly<Record<number, ExportedSpan['kind']>> = { 1: 'internal', 2: 'server', 3: 'client' };
const ERROR = 2;

/** The fields of a message of Protocol Buffers by their numbers: bytes, or numbers. */
type Message = ReadonlyMap<number, readonly unknown[]>;

const NOTHING: Message = new Map();

/** Reads a request with traces (opentelemetry-proto, `collector/trace/v1/trace_service.proto`), by the numbers that stand there. */
export function readTraces(bytes: Uint8Array): ExportedSpan[] {
  return messages(read(bytes), 1).flatMap((resourceSpans) => {
    const [resource] = messages(resourceSpans, 1);
    const ofProcess = resource ? attributesOf(resource, 1) : {};
    return messages(resourceSpans, 2).flatMap((scopeSpans) => messages(scopeSpans, 2).map((span) => spanOf(span, ofProcess)));
  });
}

function spanOf(span: Message, resource: Record<string, unknown>): ExportedSpan {
  const [status = NOTHING] = messages(span, 15);
  return {
    traceId: bytesOf(span, 1).toString('hex'),
    spanId: bytesOf(span, 2).toString('hex'),
    parentId: bytesOf(span, 4).toString('hex'),
    traceState: bytesOf(span, 3).toString(),
    name: bytesOf(span, 5).toString(),
    kind: KINDS[Number(span.get(6)?.[0])] ?? 'other',
    attributes: attributesOf(span, 9),
    isFailed: Number(status.get(3)?.[0]) === ERROR,
    message: bytesOf(status, 2).toString(),
    resource,
    start: span.get(7)?.[0] as bigint,
    end: span.get(8)?.[0] as bigint,
  };
}

function attributesOf(message: Message, field: number): Record<string, unknown> {
  const pairs = messages(message, field).map((pair) => [bytesOf(pair, 1).toString(), valueOf(messages(pair, 2)[0])] as const);
  return Object.fromEntries(pairs);
}

/** `AnyValue`: the kinds that attributes here have. */
function valueOf(value: Message = NOTHING): unknown {
  if (value.has(2)) {
    return Number(value.get(2)?.[0]) === 1;
  }
  return value.has(3) ? Number(value.get(3)?.[0]) : bytesOf(value, 1).toString();
}

function messages(message: Message, field: number): Message[] {
  return (message.get(field) ?? []).map((bytes) => read(bytes as Uint8Array));
}

function bytesOf(message: Message, field: number): Buffer {
  return Buffer.from((message.get(field)?.[0] ?? []) as Uint8Array);
}

function read(bytes: Uint8Array): Message {
  const reader = new BinaryReader(bytes);
  const fields = new Map<number, unknown[]>();
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    const readers: Readonly<Record<number, () => unknown>> = {
      0: () => reader.uint64(),
      1: () => reader.fixed64(),
      2: () => reader.bytes(),
      5: () => reader.fixed32(),
    };
    fields.set(field, [...(fields.get(field) ?? []), readers[type]?.()]);
  }
  return fields;
}
