import { Global, Module } from '@nestjs/common';
import { DoctorChecks } from './doctor-checks.js';

/** The command `doctor`. Other modules inject `DoctorChecks` and add theirs. */
@Global()
@Module({ providers: [DoctorChecks], exports: [DoctorChecks] })
export class DoctorModule {}
