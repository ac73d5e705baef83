import type { PageMember, PageKey } from '@gateway/contracts/pages';
import { Link } from 'react-router';
import { useRefreshAccount } from '../../api/queries.js';
import { request } from '../../api/request.js';
import { countOf } from '../../format/number.js';
import { useCurrent } from '../../layout/current-account.js';
import { Confirm } from '../../ui/confirm.js';
import { Notice } from '../../ui/notice.js';
import { useToast } from '../../ui/toasts.js';

interface RemoveMemberProps {
  /** The member to remove; null: none. */
  readonly leaving: PageMember | null;
  /** Keys of the whole account. */
  readonly keys: readonly PageKey[];
  readonly onClose: () => void;
}

/** Removes a member without active keys, so that no running program stops by accident. */
export function RemoveMember({ leaving, keys, onClose }: RemoveMemberProps) {
  const { account } = useCurrent();
  const refresh = useRefreshAccount(account.id);
  const toast = useToast();
  const inUse = keys.filter(
    ({ memberId, state }) => memberId === leaving?.id && (state === 'active' || state === 'suspended'),
  ).length;
  const remove = async () => {
    if (leaving === null) return;
    await request(`/accounts/${account.id}/members/${leaving.id}`, { method: 'DELETE' });
    toast(`${leaving.email} removed`);
    await refresh();
  };
  return (
    <Confirm
      opened={leaving !== null}
      title="Remove this member?"
      action="Remove member"
      danger
      onClose={onClose}
      onConfirm={remove}
    >
      <p>
        <strong className="breakable">{leaving?.email}</strong> can no longer see the account or use its playground. The
        member's usage stays in the records.
      </p>
      {inUse > 0 && (
        <Notice
          tone="warn"
          title={`Revoke ${countOf(inUse, 'key')} of this member first`}
          actions={<Link to="/keys">Go to API keys</Link>}
        >
          A member with active or suspended keys cannot be removed.
        </Notice>
      )}
    </Confirm>
  );
}
