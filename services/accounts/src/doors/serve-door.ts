import { BusFault, type AnyRequest, type Bus } from '@gateway/bus';
import { MESSAGES, type AnswerBodyOf, type ReceivedOf } from '@gateway/contracts/messages';
import { isRefusal } from '@gateway/contracts/operator';
import { isConnectionFault, isValueFault, sqlStateOf } from '@gateway/postgres';
import { counter } from '@gateway/service-kit';

export type Door = <M extends AnyRequest>(
  message: M,
  handle: (body: ReceivedOf<M>) => Promise<AnswerBodyOf<M>>,
) => void;

const requests = counter('gateway_accounts_requests_total', 'Answered requests', {
  verb: MESSAGES.filter(({ kind, servedBy }) => kind === 'request' && servedBy.includes('accounts')).map(verbOf),
  outcome: ['answered', 'refused', 'fault'],
});

/** Opens doors that handle at most so many requests of one message at once; a longer queue would only time out. */
export function doorsOf(bus: Bus, concurrencyMax: number): Door {
  return (message, handle) => bus.serve(message, (body) => answered(verbOf(message), handle(body)), { concurrencyMax });
}

async function answered<T>(verb: string, work: Promise<T>): Promise<T> {
  try {
    const result = await work;
    requests.of({ verb, outcome: isRefusal(result) ? 'refused' : 'answered' }).add();
    return result;
  } catch (error) {
    requests.of({ verb, outcome: 'fault' }).add();
    throw faultOf(error);
  }
}

/** An error of the database quotes the row, digests included: only its kind goes any further. */
function faultOf(error: unknown): unknown {
  if (isConnectionFault(error)) return new BusFault('dependency_unavailable', 'the database of accounts is away');
  if (isValueFault(error)) return new BusFault('invalid_value', 'the database of accounts cannot store a value');
  const state = sqlStateOf(error);
  if (state === null) return error;
  const { table, constraint } = error as { readonly table?: string; readonly constraint?: string };
  return new Error(`the database refused a statement: ${state} ${table ?? ''} ${constraint ?? ''}`.trimEnd());
}

function verbOf({ name }: { readonly name: string }): string {
  return name.slice(name.indexOf('.') + 1).replaceAll('-', '_');
}
