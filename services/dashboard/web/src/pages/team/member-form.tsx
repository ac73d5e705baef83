import { Modal, Select, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { Invitation, PageMember, PageMemberPut } from '@gateway/contracts/pages';
import { useRefreshAccount } from '../../api/queries.js';
import { request } from '../../api/request.js';
import { useCurrent } from '../../layout/current-account.js';
import { DialogForm } from '../../ui/form.js';
import { CapInput } from '../../ui/cap-input.js';
import { fieldError } from '../../ui/notice.js';
import { useToast } from '../../ui/toasts.js';

interface MemberFormProps {
  readonly editing: PageMember | 'new' | null;
  readonly onClose: () => void;
}

/** Invites a member, or changes role and cap. */
export function MemberForm({ editing, onClose }: MemberFormProps) {
  return (
    <Modal
      opened={editing !== null}
      onClose={onClose}
      title={editing === 'new' ? 'Invite a member' : 'Change role and cap'}
      size={460}
    >
      {editing !== null && <Form member={editing === 'new' ? null : editing} onClose={onClose} />}
    </Modal>
  );
}

type Role = PageMember['role'];
const ROLES = [
  { value: 'member', label: 'Member — own keys and own usage' },
  { value: 'admin', label: 'Admin — everything in the account' },
];

function Form({ member, onClose }: { readonly member: PageMember | null; readonly onClose: () => void }) {
  const { account } = useCurrent();
  const refresh = useRefreshAccount(account.id);
  const toast = useToast();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>(member?.role ?? 'member');
  const [cap, setCap] = useState<string | number>(member?.monthlySpendCapUsd ?? '');
  const path = `/accounts/${account.id}/members`;
  const save = useMutation({
    mutationFn: () => {
      const monthlySpendCapUsd = cap === '' ? null : String(cap);
      if (member !== null) {
        const body: PageMemberPut = { role, monthlySpendCapUsd };
        return request(`${path}/${member.id}`, { method: 'PUT', body });
      }
      const body: Invitation = { email: email.trim(), role: role === 'admin' ? 'admin' : 'member', monthlySpendCapUsd };
      return request(path, { method: 'POST', body });
    },
    async onSuccess() {
      toast(member === null ? `Invitation sent to ${email}` : 'Saved');
      onClose();
      await refresh();
    },
  });
  return (
    <DialogForm
      change={save}
      fields={['email', 'monthlySpendCapUsd']}
      submit={member === null ? 'Send invitation' : 'Save'}
      onClose={onClose}
    >
      {member === null ? (
        <TextInput
          label="Email address"
          description="The person gets a link to join."
          type="email"
          required
          data-autofocus
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          error={fieldError(save.error, 'email')}
        />
      ) : (
        <p className="strong breakable">{member.email}</p>
      )}
      {member?.role === 'owner' ? (
        <p className="muted">The role of the owner cannot be changed.</p>
      ) : (
        <Select
          label="Role"
          data={ROLES}
          value={role}
          allowDeselect={false}
          onChange={(value) => setRole((value ?? 'member') as Role)}
        />
      )}
      <CapInput
        description="For all keys of the member together, per UTC calendar month. Leave blank for no cap."
        value={cap}
        onChange={setCap}
        error={fieldError(save.error, 'monthlySpendCapUsd')}
      />
    </DialogForm>
  );
}
