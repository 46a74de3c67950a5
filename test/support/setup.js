import 'reflect-metadata';
import { jest } from '@jest/globals';
// Loaded whole before CommonJS packages such as @nestjs/throttler require them: Jest takes it for a cycle otherwise.
import '@nestjs/common';
import '@nestjs/core';

// For tests as `nest new` and docs.nestjs.com write them: Jest leaves it out in ES modules.
globalThis.jest = jest;
