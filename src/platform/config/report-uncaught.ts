import { reportFailure } from './report-failure.js';

// Imported first. Node would end the process, too, but print whatever hangs on the error: the parameters of a statement, the
// arguments of a command to Redis. Its diagnostic report would show the same.
process.on('uncaughtException', reportFailure);
process.on('unhandledRejection', reportFailure);
