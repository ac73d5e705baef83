import { refuse, type ManagementRefusal, type OperatorRole } from '@gateway/contracts/operator';

/** Prefix of named operators' tokens, followed by 48 lower-case hexadecimal characters. */
export const OPERATOR_TOKEN_PREFIX = 'mgo_';

/** The operator who sent a request. */
export interface Operator {
  readonly id: string;
  readonly name: string;
  readonly role: OperatorRole;
}

/** The holder of the deployment's own token. No other operator can have this ID or name. */
export const ROOT: Operator = { id: 'root', name: 'root', role: 'admin' };

/**
 * Permissions. `money`: wallets, plans, subscriptions, limits, caps, prices. `keys`: creating and
 * rotating account keys, which shows their secrets, and adding, promoting or verifying people, who
 * can then create keys. `credentials`: sending a stored credential, or one from the dashboard's
 * environment, to another host. `catalog`: catalog objects and plans, if the role has the
 * permission for each change (`checkChanges`).
 */
export type Permission = 'read' | 'write' | 'catalog' | 'money' | 'keys' | 'credentials' | 'operators';

/** The roles that have each permission. Each route of the operator API names its permission. */
export const ROLES_BY_ACCESS: Readonly<Record<Permission, readonly OperatorRole[]>> = {
  read: ['admin', 'operator', 'finance', 'readonly'],
  write: ['admin', 'operator'],
  catalog: ['admin', 'operator', 'finance'],
  money: ['admin', 'finance'],
  keys: ['admin'],
  credentials: ['admin'],
  operators: ['admin'],
};

/** Returns whether the current operator has a permission. */
export type PermissionCheck = (right: Permission) => boolean;

export function createPermissionCheck({ role }: Pick<Operator, 'role'>): PermissionCheck {
  return (right) => ROLES_BY_ACCESS[right].includes(role);
}

/** Refuses a part of a request for lack of permission. `what` begins with the field. */
export function refusePermission(right: Permission, what: string, param: string | null = null): ManagementRefusal {
  return refuse('operator_forbidden', `${what} needs the role ${ROLES_BY_ACCESS[right].join(' or ')}`, param);
}

/** Returns the operator's name in audit entries. */
export function formatActor(operator: Operator): string {
  return `operator:${operator.name}`;
}
