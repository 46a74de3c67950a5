/** The columns of an entity but for its key: those that can be null may be left out. */
export type Values<Entity> = {
  readonly [Name in keyof Entity as Name extends 'id' ? never : null extends Entity[Name] ? never : Name]: Entity[Name];
} & {
  readonly [Name in keyof Entity as null extends Entity[Name] ? Name : never]?: Entity[Name] | undefined;
};

/** A row of an entity, as it was added. */
export type Row<Entity> = { readonly id: string } & Values<Entity>;
