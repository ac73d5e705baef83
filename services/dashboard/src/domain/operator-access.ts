import type { OperatorRole } from '@gateway/contracts/operator';

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

/** What a route does, as far as roles are concerned. `money`: entries of a wallet; `operators`: who may do what. */
export type Access = 'read' | 'write' | 'money' | 'operators';

/** Interfaces, Operator API: an operator changes everything but money and operators, finance changes money only. */
export const ROLES_BY_ACCESS: Readonly<Record<Access, readonly OperatorRole[]>> = {
  read: ['admin', 'operator', 'finance', 'readonly'],
  write: ['admin', 'operator'],
  money: ['admin', 'finance'],
  operators: ['admin'],
};

/** How an operator stands in audit entries. */
export function actorOf(operator: Operator): string {
  return `operator:${operator.name}`;
}
