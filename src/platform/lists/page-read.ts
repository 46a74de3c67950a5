import type { ObjectLiteral, Repository } from 'typeorm';
import { readerOf } from '../database/app-data-source.js';
import type { Send } from '../database/database-client.js';
import type { ReadReplica } from '../database/read-replica.js';
import type { Reader } from '../database/reader.js';

export interface PageRead<Entity extends ObjectLiteral = ObjectLiteral> {
  readonly repository: Repository<Entity>;
  /** Of the list with its filter, for what is known of it. */
  readonly key: string;
  /** Undefined if the page must not lag behind. */
  readonly replica: ReadReplica | undefined;
}

/** Reads with one or several statements. */
export type Read<T> = (send: Send) => Promise<T>;

/** Reads from the replica if the page may lag; otherwise, or if that fails, from the primary, which may have no reader. */
export function onReplicaOrPrimary<T>(
  { repository, replica }: PageRead,
  read: (reader: Reader | undefined) => Promise<T>,
): Promise<T> {
  const onPrimary = () => read(readerOf(repository.manager.dataSource));
  return replica ? replica.read(read, onPrimary) : onPrimary();
}
