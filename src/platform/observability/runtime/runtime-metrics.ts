import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Metrics } from '../metrics.js';
import { addBuildInfo } from './build-info.js';
import { EventLoopMetrics } from './event-loop-metrics.js';
import { GarbageCollectionMetrics } from './garbage-collection-metrics.js';
import { addMemoryMetrics } from './memory-metrics.js';
import { addProcessMetrics } from './process-metrics.js';

/**
 * What the process and Node say of themselves, under the names that `prom-client` gives: dashboards for Node know them. Its own
 * collector begins at once and for good; this one watches from start to shutdown, and a command that serves nothing not at all.
 */
@Injectable()
export class RuntimeMetrics implements OnApplicationShutdown {
  private readonly eventLoop: EventLoopMetrics;
  private readonly garbageCollection: GarbageCollectionMetrics;

  constructor(metrics: Metrics) {
    addBuildInfo(metrics);
    addProcessMetrics(metrics);
    addMemoryMetrics(metrics);
    this.eventLoop = new EventLoopMetrics(metrics);
    this.garbageCollection = new GarbageCollectionMetrics(metrics);
  }

  start(): void {
    this.eventLoop.start();
    this.garbageCollection.start();
  }

  onApplicationShutdown(): void {
    this.eventLoop.stop();
    this.garbageCollection.stop();
  }
}
