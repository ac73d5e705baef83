import { Modal, SegmentedControl, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import type { KeyCreation, PageKeyCreate, CreatedPageKey } from '@gateway/contracts/pages';
import { useMembers, useModels } from '../../api/queries.js';
import { request } from '../../api/request.js';
import { formatUsd } from '../../format/usd.js';
import { useCurrent } from '../../layout/current-account.js';
import { DialogForm } from '../../ui/form.js';
import { CapInput } from '../../ui/cap-input.js';
import { Notice, fieldError } from '../../ui/notice.js';
import { PickMany, Picker } from '../../ui/picker.js';

interface CreateKeyProps {
  readonly opened: boolean;
  readonly creation: KeyCreation;
  readonly onClose: () => void;
  readonly onCreated: (key: CreatedPageKey) => void;
}

/** The form for a new key. Explains blank fields and settings that cannot be changed later. */
export function CreateKey({ opened, creation, onClose, onCreated }: CreateKeyProps) {
  return (
    <Modal opened={opened} onClose={onClose} title="Create an API key" size={540}>
      {opened && <Form creation={creation} onClose={onClose} onCreated={onCreated} />}
    </Modal>
  );
}

type FormProps = Omit<CreateKeyProps, 'opened'>;

function Form({ creation, onClose, onCreated }: FormProps) {
  const { account, isManager } = useCurrent();
  const forOthers = isManager && account.type === 'team';
  const models = useModels(account.id);
  const members = useMembers(account.id, forOthers);
  const [name, setName] = useState('');
  const [cap, setCap] = useState<string | number>('');
  const [scope, setScope] = useState<'all' | 'some'>('all');
  const [allowed, setAllowed] = useState<string[]>([]);
  const [member, setMember] = useState<string>(account.memberId);
  const idempotencyKeyOf = useIdempotencyKey();
  const create = useMutation({
    mutationFn: () => {
      const body: PageKeyCreate = {
        name: name.trim(),
        ...(cap === '' ? {} : { monthlySpendCapUsd: String(cap) }),
        ...(scope === 'all' ? {} : { allowedModels: allowed }),
        ...(forOthers ? { memberId: member } : {}),
      };
      return request<CreatedPageKey>(`/accounts/${account.id}/keys`, {
        method: 'POST',
        body,
        idempotencyKey: idempotencyKeyOf(body),
      });
    },
    onSuccess: onCreated,
  });
  return (
    <DialogForm
      change={create}
      fields={['name', 'monthlySpendCapUsd', 'allowedModels']}
      submit="Create key"
      isLoose
      isDisabled={scope === 'some' && allowed.length === 0}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="Where the key is used, so that you can find it later."
        placeholder="billing-worker, production"
        required
        maxLength={200}
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        error={fieldError(create.error, 'name')}
      />
      {forOthers && (
        <Picker
          label="Member"
          description="The owner of the key. Its requests count toward the member's cap."
          data={(members.data?.data ?? []).map(({ id, email }) => ({ value: id, label: email }))}
          value={member}
          allowDeselect={false}
          onChange={(value) => setMember(value ?? account.memberId)}
        />
      )}
      <CapInput
        description={capAbout(creation.defaultCapUsd)}
        placeholder={creation.defaultCapUsd === null ? 'No cap' : formatUsd(creation.defaultCapUsd)}
        value={cap}
        onChange={setCap}
        error={fieldError(create.error, 'monthlySpendCapUsd')}
      />
      <div className="stack" role="group" aria-label="Allowed models">
        <SegmentedControl
          aria-label="Allowed models"
          data={[
            { value: 'all', label: 'Every model' },
            { value: 'some', label: 'Only these models' },
          ]}
          value={scope}
          onChange={(value) => setScope(value as 'all' | 'some')}
        />
        {scope === 'some' && (
          <PickMany
            label="Models"
            description="Requests to other models get 403 model_not_allowed_on_key, and the model list shows only these."
            placeholder={allowed.length === 0 ? 'Choose models' : undefined}
            data={(models.data ?? []).map(({ id }) => ({ value: id, label: id }))}
            value={allowed}
            onChange={setAllowed}
            required
            maxDropdownHeight={220}
            error={fieldError(create.error, 'allowedModels')}
          />
        )}
      </div>
      <Notice tone="info" title="Cap and models cannot be changed later">
        To change them, create a new key and revoke this one.
      </Notice>
    </DialogForm>
  );
}

/** Returns the same key for equal content, so that a retry creates no second API key. */
function useIdempotencyKey(): (content: unknown) => string {
  const last = useRef({ content: '', key: '' });
  return (content) => {
    const text = JSON.stringify(content);
    if (last.current.content !== text) last.current = { content: text, key: newIdempotencyKey() };
    return last.current.key;
  };
}

/** 128 random bits. `crypto.randomUUID` is not available without TLS. */
function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function capAbout(defaultCapUsd: string | null): string {
  const basis = 'Counted per UTC calendar month. A request is refused if its worst-case cost would exceed the cap.';
  return defaultCapUsd === null
    ? `${basis} Leave blank for no cap.`
    : `${basis} Leave blank for ${formatUsd(defaultCapUsd)}, the default of your plan.`;
}
