import { isConnectionFault, isDataFault, sqlStateOf } from '@gateway/postgres';

/**
 * Whether the database as a whole cannot work: no connection, no table, no right. Everything else (refused data, a fault in
 * our own code) lies in what was asked and comes back with the same question.
 */
export function isInfrastructureFault(error: unknown): boolean {
  return isConnectionFault(error) || (sqlStateOf(error) !== null && !isDataFault(error));
}
