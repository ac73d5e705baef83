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
 * What `runService` would give a replica with this environment.
 * @throws ConfigurationError when the environment cannot be read
 */
export function serviceContext<S extends ConfigFields>(
  fields: S,
  env: NodeJS.ProcessEnv,
  log: ServiceContext<S>['log'] = silentLog,
  replica = `r${randomBytes(4).toString('hex')}`,
): ServiceContext<S> {
  return {
    config: readConfig({ ...BASE_FIELDS, ...fields }, env) as ServiceConfig<S>,
    log,
    clock: systemClock,
    replica,
    ready: new ReadyChecks(),
    stopping: new AbortController().signal,
  };
}
