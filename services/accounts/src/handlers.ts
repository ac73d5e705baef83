import type { Bus } from '@gateway/bus';
import {
  accountsAudit,
  accountsNoteAccess,
  accountsBeginIdempotent,
  accountsCloseAccount,
  accountsCreateAccount,
  accountsCreateKey,
  accountsCreateMember,
  accountsCreateOperator,
  accountsCreateOperatorSession,
  accountsDeleteMember,
  accountsDeleteOperator,
  accountsEndIdempotent,
  accountsEndOperatorSession,
  accountsEnsurePlaygroundKey,
  accountsFind,
  accountsFindOperator,
  accountsFindOperatorSession,
  accountsGetAccount,
  accountsGetKey,
  accountsInviteMember,
  accountsListAccounts,
  accountsListKeys,
  accountsListMembers,
  accountsListOperators,
  accountsLoad,
  accountsNames,
  accountsPutMember,
  accountsRotateKey,
  accountsSetAccountState,
  accountsSetKeyState,
  accountsBeginSignIn,
  accountsChangePassword,
  accountsCreateSession,
  accountsEndSession,
  accountsFindMailToken,
  accountsFindSession,
  accountsKeyCreation,
  accountsRequestReset,
  accountsResendVerification,
  accountsSignUp,
  accountsUseMailToken,
  alertRaised,
  keysUsed,
} from '@gateway/contracts/messages';
import { listAudit, noteAccess } from './audit/handlers.js';
import { beginIdempotent, endIdempotent } from './idempotency/handlers.js';
import { createKey, keyCreation } from './keys/create-key.js';
import { ensurePlaygroundKey } from './keys/ensure-playground-key.js';
import { findKey, getKey, listKeys, noteUses } from './keys/handlers.js';
import { rotateKey, setKeyState } from './keys/change-key.js';
import { takeAlert } from './mail/handlers.js';
import { createOperator } from './operators/create-operator.js';
import { deleteOperator, findOperator, listOperators } from './operators/handlers.js';
import { createOperatorSession, endOperatorSession, findOperatorSession } from './operators/sessions.js';
import { closeAccount } from './accounts/close-account.js';
import { createAccount } from './accounts/create-account.js';
import { createMember, inviteMember } from './people/create-member.js';
import { deleteMember } from './people/delete-member.js';
import { findNames, getAccount, listAccounts, loadAccount } from './accounts/handlers.js';
import { listMembers } from './people/handlers.js';
import { putMember } from './people/put-member.js';
import { setAccountState } from './accounts/set-account-state.js';
import type {
  AccountsStore,
  ClosingSource,
  FundingSource,
  IdempotencyStore,
  InForce,
  MakeId,
  OperatorSessions,
} from './ports.js';
import { beginSignIn, changePassword } from './sign-in/passwords.js';
import { createSession, endSession, findSession } from './sign-in/sessions.js';
import { requestReset, resendVerification, findMailToken, useMailToken } from './sign-in/mail-links.js';
import { signUp } from './sign-in/sign-up.js';
import { doorsOf } from './serve.js';

export interface DoorPorts {
  readonly store: AccountsStore;
  readonly kept: IdempotencyStore;
  readonly operatorSessions: OperatorSessions;
  readonly funding: FundingSource;
  readonly closing: ClosingSource;
  readonly inForce: InForce;
  readonly makeId: MakeId;
  /** A new UUIDv7. */
  readonly makeCommand: () => string;
  /** Epoch milliseconds. */
  readonly nowMs: () => number;
  readonly teamsEnabled: boolean;
}

/** Requests of one kind at once; they share a few connections, and a longer queue would only time out. */
const LOOKUPS_AT_ONCE_MAX = 256;
const CHANGES_AT_ONCE_MAX = 64;
/** More than of other changes: most of their time they wait for admission, which holds no connection. */
const AWAITED_AT_ONCE_MAX = 256;
const REPORTS_AT_ONCE_MAX = 16;

/** Opens the doors of this service; the bus has validated what comes through them. */
export function openDoors(bus: Bus, ports: DoorPorts): void {
  openLookups(bus, ports);
  openChanges(bus, ports);
  openAwaitedChanges(bus, ports);
  openSignIn(bus, ports);
  const reports = { concurrencyMax: REPORTS_AT_ONCE_MAX };
  bus.subscribe(keysUsed, (body) => noteUses(ports.store, body, ports.nowMs()), reports);
}

function openSignIn(bus: Bus, ports: DoorPorts): void {
  const door = doorsOf(bus, CHANGES_AT_ONCE_MAX);
  door(accountsSignUp, (body) => signUp(ports, body));
  door(accountsBeginSignIn, (body) => beginSignIn(ports, body));
  door(accountsCreateSession, (body) => createSession(ports, body));
  door(accountsEndSession, (body) => endSession(ports.store, body));
  door(accountsRequestReset, (body) => requestReset(ports, body));
  door(accountsResendVerification, (body) => resendVerification(ports, body));
  door(accountsFindMailToken, (body) => findMailToken(ports, body));
  door(accountsUseMailToken, (body) => useMailToken(ports, body));
  door(accountsChangePassword, (body) => changePassword(ports, body));
}

function openLookups(bus: Bus, ports: DoorPorts): void {
  const { store, nowMs } = ports;
  const door = doorsOf(bus, LOOKUPS_AT_ONCE_MAX);
  door(accountsFind, (body) => findKey(store, body));
  door(accountsLoad, (body) => loadAccount(store, body));
  door(accountsGetAccount, (body) => getAccount(store, body));
  door(accountsListAccounts, (body) => listAccounts(store, body));
  door(accountsListMembers, (body) => listMembers(store, body));
  door(accountsGetKey, (body) => getKey(store, body, nowMs()));
  door(accountsListKeys, (body) => listKeys(store, body, nowMs()));
  door(accountsFindOperator, (body) => findOperator(store, body, nowMs()));
  door(accountsFindOperatorSession, (body) => findOperatorSession(ports, body));
  door(accountsListOperators, (body) => listOperators(store, body));
  door(accountsNames, (body) => findNames(store, body));
  door(accountsFindSession, (body) => findSession(ports, body));
  door(accountsKeyCreation, (body) => keyCreation(ports, body));
  door(accountsAudit, (body) => listAudit(store, body));
}

function openChanges(bus: Bus, ports: DoorPorts): void {
  const door = doorsOf(bus, CHANGES_AT_ONCE_MAX);
  door(alertRaised, (body) => takeAlert(ports.store, body));
  door(accountsCreateAccount, (body) => createAccount(ports, body));
  door(accountsCreateMember, (body) => createMember(ports, body));
  door(accountsInviteMember, (body) => inviteMember(ports, body));
  door(accountsDeleteMember, (body) => deleteMember(ports, body));
  door(accountsCreateKey, (body) => createKey(ports, body));
  door(accountsCreateOperator, (body) => createOperator(ports, body));
  door(accountsDeleteOperator, (body) => deleteOperator(ports.store, body));
  door(accountsNoteAccess, (body) => noteAccess(ports.store, body));
  door(accountsCreateOperatorSession, (body) => createOperatorSession(ports, body));
  door(accountsEndOperatorSession, (body) => endOperatorSession(ports, body));
  door(accountsBeginIdempotent, (body) => beginIdempotent(ports, body));
  door(accountsEndIdempotent, (body) => endIdempotent(ports.kept, body));
}

function openAwaitedChanges(bus: Bus, ports: DoorPorts): void {
  const door = doorsOf(bus, AWAITED_AT_ONCE_MAX);
  door(accountsSetAccountState, (body) => setAccountState(ports, body));
  door(accountsCloseAccount, (body) => closeAccount(ports, body));
  door(accountsPutMember, (body) => putMember(ports, body));
  door(accountsRotateKey, (body) => rotateKey(ports, body));
  door(accountsSetKeyState, (body) => setKeyState(ports, body));
  door(accountsEnsurePlaygroundKey, (body) => ensurePlaygroundKey(ports, body));
}
