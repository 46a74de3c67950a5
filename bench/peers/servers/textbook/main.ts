import 'reflect-metadata';
import { ClassSerializerInterceptor, ValidationPipe } from '@nestjs/common';
import { NestFactory, Reflector } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { ProblemFilter } from './http/problem.filter.js';

const { PORT = '' } = process.env;
const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'] });
app.useGlobalPipes(new ValidationPipe({ transform: true, whitelist: true, forbidNonWhitelisted: true }));
app.useGlobalInterceptors(new ClassSerializerInterceptor(app.get(Reflector)));
app.useGlobalFilters(new ProblemFilter());
await app.listen(PORT, '127.0.0.1');
