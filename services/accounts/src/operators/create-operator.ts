import type { ReceivedOf, accountsCreateOperator } from '@gateway/contracts/messages';
import { refuse, type ManagementRefusal, type OperatorView } from '@gateway/contracts/operator';
import { toOperatorView } from './sessions.js';
import type { OperatorStore } from './store.js';
import type { MakeId } from '../base/rules.js';

export interface CreateOperatorDeps {
  readonly store: Pick<OperatorStore, 'change'>;
  readonly makeId: MakeId;
  readonly nowMs: () => number;
}
export type CreateOperator = ReceivedOf<typeof accountsCreateOperator>;

/** Name of the operator with the deployment's own token, who is not stored. */
const ROOT = 'root';

/** Creates an operator with a unique name, which the audit log shows. */
export async function createOperator(
  { store, makeId, nowMs }: CreateOperatorDeps,
  { spec, digest, author, command }: CreateOperator,
): Promise<{ operator: OperatorView; repeated: boolean } | ManagementRefusal> {
  if (spec.name.toLowerCase() === ROOT)
    return refuse('invalid_request', "the name belongs to the deployment's own operator", 'name');
  const expiresAt = spec.expiresAt === null ? null : Date.parse(spec.expiresAt);
  if (expiresAt !== null && expiresAt <= nowMs())
    return refuse('invalid_request', 'expiresAt: must be in the future', 'expiresAt');
  return store.change(async (tx) => {
    if (command !== undefined) {
      await tx.lockCommand(command);
      const made = await tx.operatorOfCommand(command);
      if (made) return { operator: toOperatorView(made), repeated: true };
    }
    const { name, role } = spec;
    const id = makeId('opr');
    const operator = await tx.insertOperator({
      id,
      name,
      role,
      digest,
      createdBy: author.actor,
      expiresAt,
      command: command ?? null,
    });
    if (!operator) return refuse('state_conflict', 'there is an operator with this name or token', 'name');
    const view = toOperatorView(operator);
    await tx.audit({ author, action: 'create_operator', account: null, objectId: id, before: null, after: view });
    return { operator: view, repeated: false };
  });
}
