import { Button, PasswordInput, SegmentedControl, useMantineColorScheme } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { SESSION_KEY, readSession } from '../../api/queries.js';
import { ApiError, request } from '../../api/request.js';
import type { Advice } from '../../format/advice.js';
import { useCurrent } from '../../layout/current-account.js';
import { Confirm } from '../../ui/confirm.js';
import { CopyText } from '../../ui/copy.js';
import { NewPassword } from '../../ui/new-password.js';
import { ErrorNotice, Notice, fieldError, isFormError } from '../../ui/notice.js';
import { Card, Page } from '../../ui/page.js';

/** The person's profile: address, password, sessions, appearance. */
export function Component() {
  const { user, account } = useCurrent();
  return (
    <Page title="Profile">
      <div className="grid-halves">
        <div className="stack loose">
          <Card title="You">
            <dl className="facts">
              <dt>Email address</dt>
              <dd className="breakable">{user.email}</dd>
              <dt>Account</dt>
              <dd>{account.name}</dd>
              <dt>Account ID</dt>
              <dd>
                <CopyText text={account.id} label="Copy the account ID" />
              </dd>
              <dt>Role</dt>
              <dd>{account.role}</dd>
            </dl>
          </Card>
          <Appearance />
          <Sessions />
        </div>
        <ChangePassword />
      </div>
    </Page>
  );
}

function Appearance() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Card title="Appearance">
      <SegmentedControl
        aria-label="Appearance"
        data={[
          { value: 'auto', label: 'System' },
          { value: 'light', label: 'Light' },
          { value: 'dark', label: 'Dark' },
        ]}
        value={colorScheme}
        onChange={(value) => setColorScheme(value as 'auto' | 'light' | 'dark')}
      />
    </Card>
  );
}

function Sessions() {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [asking, setAsking] = useState(false);
  const signOut = async () => {
    await request('/sign-out-everywhere', { method: 'POST' });
    client.clear();
    client.setQueryData(SESSION_KEY, null);
    await navigate('/sign-in');
  };
  return (
    <Card title="Sessions" about="A session ends after 7 days without use, or after 30 days">
      <Button variant="default" onClick={() => setAsking(true)}>
        Sign out everywhere
      </Button>
      <Confirm
        opened={asking}
        title="Sign out everywhere?"
        action="Sign out everywhere"
        onClose={() => setAsking(false)}
        onConfirm={signOut}
      >
        <p>This ends all your sessions, also on this device. API keys are not affected.</p>
      </Confirm>
    </Card>
  );
}

function ChangePassword() {
  const client = useQueryClient();
  const [oldPassword, setOld] = useState('');
  const [newPassword, setNew] = useState('');
  const change = useMutation({
    mutationFn: async () => {
      await request('/change-password', { method: 'POST', body: { oldPassword, newPassword } });
      client.setQueryData(SESSION_KEY, await readSession());
    },
    onSuccess() {
      setOld('');
      setNew('');
    },
  });
  return (
    <Card title="Password" about="A change ends all other sessions">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate();
        }}
      >
        {isFormError(change.error, ['newPassword']) && (
          <ErrorNotice error={change.error} advice={adviceOfChange(change.error)} />
        )}
        {change.isSuccess && <Notice tone="good" announced title="Password changed" />}
        <PasswordInput
          label="Current password"
          autoComplete="current-password"
          required
          value={oldPassword}
          onChange={(event) => setOld(event.currentTarget.value)}
        />
        <NewPassword
          label="New password"
          name="newPassword"
          value={newPassword}
          onChange={setNew}
          error={fieldError(change.error, 'newPassword')}
        />
        <div>
          <Button type="submit" loading={change.isPending}>
            Change password
          </Button>
        </div>
      </form>
    </Card>
  );
}

/** Advice for a wrong current password. The default advice is about sign-in. */
function adviceOfChange(error: unknown): Advice | undefined {
  if (!(error instanceof ApiError) || error.code !== 'invalid_credentials') return undefined;
  return { title: 'The current password is incorrect', next: 'Check it and try again.' };
}
