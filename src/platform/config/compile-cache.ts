import module from 'node:module';
import { fileURLToPath } from 'node:url';

// What Node has compiled once it need not compile again. Whoever can write beside the code could change that as well; who
// cannot uses what is there.
module.enableCompileCache(fileURLToPath(new URL('.cache', import.meta.url)));
