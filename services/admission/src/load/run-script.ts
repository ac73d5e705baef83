import type { ScriptCall, ScriptReply } from '../domain/script-call.js';
import { AdmissionFault } from '../ports.js';
import type { LimitStore } from '../ports.js';

/** The reply of one call. @throws AdmissionFault when it could not run */
export async function runScript(limitStore: Pick<LimitStore, 'run'>, call: ScriptCall): Promise<ScriptReply> {
  const [reply] = await limitStore.run([call]);
  if (reply === undefined || reply instanceof AdmissionFault) throw reply ?? new Error('no reply');
  return reply;
}
