import 'reflect-metadata';
import { startApp } from './app.js';
import { loadEnvironment } from './platform/config/load-environment.js';
import { readConfiguration } from './platform/config/read-configuration.js';
import { reportFailure } from './platform/config/report-failure.js';

try {
  await startApp(readConfiguration(loadEnvironment()));
} catch (error) {
  reportFailure(error);
}
