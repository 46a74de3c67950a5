import { setFlagsFromString } from 'node:v8';

// What belongs to a request dies with it. Once V8 has found some of it alive in a few collections, it puts all like it among the
// objects that live long, where each keeps its whole request until the next thorough collection. docs/adr/0027 tells what that costs.
setFlagsFromString('--no-allocation-site-pretenuring');
