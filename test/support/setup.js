import 'reflect-metadata';
// Loaded whole before CommonJS packages such as @nestjs/throttler require them: Jest takes it for a cycle otherwise.
import '@nestjs/common';
import '@nestjs/core';
