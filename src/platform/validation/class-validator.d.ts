// The package as a whole loads hundreds of validators, and what is known of telephone numbers everywhere; these parts of it do not.

declare module 'class-validator/cjs/decorator/common/Allow.js' {
  export { Allow } from 'class-validator';
}

declare module 'class-validator/cjs/decorator/common/IsOptional.js' {
  export { IsOptional } from 'class-validator';
}

declare module 'class-validator/cjs/decorator/common/ValidateBy.js' {
  export { ValidateBy } from 'class-validator';
}

declare module 'class-validator/cjs/metadata/MetadataStorage.js' {
  export { getMetadataStorage } from 'class-validator';
}

declare module 'class-validator/cjs/validation/Validator.js' {
  export { Validator } from 'class-validator';
}
