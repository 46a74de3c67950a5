import { Column, Entity, PrimaryColumn } from 'typeorm';
import { TableRights } from '../platform/index.js';

@Entity('items')
@TableRights('INSERT')
export class Item {
  /** UUIDv7. Its first 48 bits are the creation time, which is stored nowhere else. */
  @PrimaryColumn('uuid')
  declare id: string;

  @Column('text')
  declare name: string;

  @Column('text', { nullable: true })
  declare description: string | null;
}
