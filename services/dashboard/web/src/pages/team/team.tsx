import { ActionIcon, Button, Menu } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'react-router';
import type { PageMember } from '@gateway/contracts/pages';
import { useKeys, useMembers } from '../../api/queries.js';
import { countOf } from '../../format/number.js';
import { useCurrent } from '../../layout/current-account.js';
import { Empty } from '../../ui/empty.js';
import { Icon } from '../../ui/icons.js';
import { Loaded } from '../../ui/loaded.js';
import { StateBadge } from '../../ui/meter.js';
import { Card, Page } from '../../ui/page.js';
import { Table } from '../../ui/table.js';
import { Amount, Time } from '../../ui/time.js';
import { MemberForm } from './member-form.js';
import { RemoveMember } from './remove-member.js';

/** The members of the account: invite, set role and cap, remove. */
export function Component() {
  const { account, config, isManager } = useCurrent();
  const isTeam = config.teamsEnabled && account.type === 'team';
  const [editing, setEditing] = useState<PageMember | 'new' | null>(null);
  if (!isTeam || !isManager) {
    return (
      <Page title="Team">
        <Card>
          <Empty icon="team" title={isTeam ? 'The team is for owners and admins' : 'This is not a team account'}>
            {isTeam
              ? 'Ask one of them to invite people or to change a cap.'
              : config.teamsEnabled
                ? 'A personal account has one member. Ask the operator of this gateway for a team account.'
                : 'Teams are disabled on this gateway.'}
          </Empty>
        </Card>
      </Page>
    );
  }
  return (
    <Page
      title="Team"
      about="Each member has separate keys. A monthly cap applies to all keys of a member together."
      actions={
        <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setEditing('new')}>
          Invite
        </Button>
      }
    >
      <Members onEdit={setEditing} />
      <MemberForm editing={editing} onClose={() => setEditing(null)} />
    </Page>
  );
}

function Members({ onEdit }: { readonly onEdit: (member: PageMember) => void }) {
  const { account } = useCurrent();
  const members = useMembers(account.id);
  const keys = useKeys(account.id);
  const [leaving, setLeaving] = useState<PageMember | null>(null);
  const keysOf = (id: string) =>
    keys.data?.data.filter(({ memberId, state }) => memberId === id && state === 'active').length ?? 0;
  return (
    <Card flush title="Members">
      <Loaded query={members}>
        {({ data, isWhole }) => (
          <>
            <Table
              label="Members"
              columns={[
                { label: 'Email address' },
                { label: 'Role' },
                { label: 'Monthly cap', right: true, wide: true },
                { label: 'Active keys', right: true, wide: true },
                { label: 'Since', wide: true },
                { label: 'Actions', silent: true },
              ]}
            >
              {data.map((member) => (
                <tr key={member.id}>
                  <th scope="row" className="breakable">
                    {member.email}
                    {member.id === account.memberId && <span className="muted"> (you)</span>}
                  </th>
                  <td>
                    <StateBadge plain tone={member.role === 'owner' ? 'accent' : 'quiet'}>
                      {ROLE_WORDS[member.role]}
                    </StateBadge>
                  </td>
                  <td className="right">
                    {member.monthlySpendCapUsd === null ? (
                      <span className="muted">No cap</span>
                    ) : (
                      <Amount usd={member.monthlySpendCapUsd} />
                    )}
                  </td>
                  <td className="right">
                    <Link to="/keys">{keysOf(member.id)}</Link>
                  </td>
                  <td>
                    <Time at={member.createdAt} />
                  </td>
                  <td className="right">
                    <Menu width={200}>
                      <Menu.Target>
                        <ActionIcon variant="subtle" aria-label={`Actions of ${member.email}`}>
                          <Icon name="more" />
                        </ActionIcon>
                      </Menu.Target>
                      <Menu.Dropdown>
                        <Menu.Item onClick={() => onEdit(member)}>Change role and cap</Menu.Item>
                        <Menu.Item component={Link} to={`/usage?member=${member.id}`}>
                          Show usage
                        </Menu.Item>
                        <Menu.Item
                          disabled={member.role === 'owner' || member.id === account.memberId}
                          onClick={() => setLeaving(member)}
                        >
                          Remove
                        </Menu.Item>
                      </Menu.Dropdown>
                    </Menu>
                  </td>
                </tr>
              ))}
            </Table>
            {!isWhole && (
              <div className="card-foot muted small">{countOf(data.length, 'member')} shown; there are more.</div>
            )}
          </>
        )}
      </Loaded>
      <RemoveMember leaving={leaving} keys={keys.data?.data ?? []} onClose={() => setLeaving(null)} />
    </Card>
  );
}

const ROLE_WORDS = { owner: 'Owner', admin: 'Admin', member: 'Member' } as const;
