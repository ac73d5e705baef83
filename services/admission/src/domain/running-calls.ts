import type { HeartbeatCall, HeartbeatNames } from '@gateway/contracts/messages';

/** A running call as a heartbeat lists or names it. */
export interface RunningCall {
  readonly id: string;
  readonly account: string;
  readonly tag: string;
  /** All that holds it again; null: a short heartbeat has only named it. */
  readonly full: HeartbeatCall | null;
}

/** The running calls that one message of a heartbeat, full or short, tells of. */
export function runningCalls({
  calls,
  names = [],
}: {
  readonly calls: readonly HeartbeatCall[];
  readonly names?: readonly HeartbeatNames[];
}): RunningCall[] {
  const listed = calls.map((full): RunningCall => ({ id: full.id, account: full.hold.account, tag: full.tag, full }));
  const named = names.flatMap(({ tag, accounts }) =>
    accounts.flatMap(({ account, ids }) => ids.map((id): RunningCall => ({ id, account, tag, full: null }))),
  );
  return [...listed, ...named];
}
