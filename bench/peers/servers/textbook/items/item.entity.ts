import { Transform } from 'class-transformer';
import { BeforeInsert, Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';
import { v7 } from 'uuid';

@Entity('items')
export class Item {
  @PrimaryColumn('uuid')
  declare id: string;

  @Column('text')
  declare name: string;

  @Transform(({ value }: { value: string | null }) => value ?? undefined)
  @Column('text', { nullable: true })
  declare description: string | null;

  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' })
  declare createdAt: Date;

  @BeforeInsert()
  identify(): void {
    this.id = v7();
  }
}
