import { refuse, type ManagementRefusal, type OperatorRole } from '@gateway/contracts/operator';

/** Tokens of named operators: this and 48 lower-case hexadecimal characters. */
export const OPERATOR_TOKEN_PREFIX = 'mgo_';

/** Who asks. */
export interface Operator {
  readonly id: string;
  readonly name: string;
  readonly role: OperatorRole;
}

/** The holder of the deployment's own token. No other operator can have this id or name. */
export const ROOT: Operator = { id: 'root', name: 'root', role: 'admin' };

/**
 * Permissions. `money`: wallets, plans, subscriptions, limits, caps, prices. `keys`: making and
 * rotating keys of accounts, which shows their secrets, and adding, promoting or verifying the
 * people who can make keys. `credentials`: sending a stored credential, or one of the dashboard's
 * environment, to another host. `catalog`: objects of the catalog and plans, as far as each change
 * has the permission that it needs (`judgeChanges`).
 */
export type Access = 'read' | 'write' | 'catalog' | 'money' | 'keys' | 'credentials' | 'operators';

/** Each row of the operator API names its right; these roles have it. */
export const ROLES_BY_ACCESS: Readonly<Record<Access, readonly OperatorRole[]>> = {
  read: ['admin', 'operator', 'finance', 'readonly'],
  write: ['admin', 'operator'],
  catalog: ['admin', 'operator', 'finance'],
  money: ['admin', 'finance'],
  keys: ['admin'],
  credentials: ['admin'],
  operators: ['admin'],
};

/** Whether whoever asks has a right. */
export type May = (right: Access) => boolean;

export function rightsOf({ role }: Pick<Operator, 'role'>): May {
  return (right) => ROLES_BY_ACCESS[right].includes(role);
}

/** Refuses a part of a request because of the operator's role. `what` begins with the field. */
export function refuseRight(right: Access, what: string, param: string | null = null): ManagementRefusal {
  return refuse('operator_forbidden', `${what} needs the role ${ROLES_BY_ACCESS[right].join(' or ')}`, param);
}

/** How an operator stands in audit entries. */
export function actorOf(operator: Operator): string {
  return `operator:${operator.name}`;
}
