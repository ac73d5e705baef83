import { randomBytes } from 'node:crypto';
import {
  BASE_FIELDS,
  ReadyChecks,
  readConfig,
  systemClock,
  type ConfigFields,
  type ServiceConfig,
  type ServiceContext,
} from '@gateway/service-kit';
import { silentLog } from './logs.js';

/**
 * Returns the context that `runService` passes to a replica with this environment.
 * @param clock pass the one of the test bus, so that a slow machine does not fail the test
 * @throws ConfigurationError if a variable is missing or invalid
 */
export function serviceContext<S extends ConfigFields>(
  fields: S,
  env: NodeJS.ProcessEnv,
  log: ServiceContext<S>['log'] = silentLog,
  replica = `r${randomBytes(4).toString('hex')}`,
  clock = systemClock,
): ServiceContext<S> {
  return {
    config: readConfig({ ...BASE_FIELDS, ...fields }, env) as ServiceConfig<S>,
    log,
    clock,
    replica,
    ready: new ReadyChecks(),
    stopping: new AbortController().signal,
  };
}
