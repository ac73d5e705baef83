import type { ServiceName } from './message.js';

/**
 * Common fields of the requests that the dashboard sends for people and operators to the service
 * that owns the object.
 */
export const managementBy = <S extends ServiceName>(service: S) =>
  ({
    version: 1,
    sentBy: ['dashboard'],
    servedBy: [service],
    perReplica: false,
    answers: 'one',
    timeoutMs: 8_000,
  }) as const;
