// The user's name and role, with a button to end the session.

import { LogOut } from 'lucide-react';
import { tokenStore } from '../api/token';
import { signOut, useAuth } from '../state/auth';
import { Button } from '../widgets/button';
import { Tooltip } from '../widgets/tooltip';
import { roleNames } from '../words/access';
import { clockTime } from '../words/age';
import * as words from '../words/sign_in';

export function SignedIn() {
  const session = useAuth((state) => state.session);
  if (session === null) return null;
  const { name, expires_at } = session;
  const role = roleNames[session.role];
  const hint = words.signedInHint(role, expires_at === null ? null : clockTime(expires_at));
  return (
    <>
      <Tooltip text={hint}>
        <span className="muted" tabIndex={0}>
          {words.signedInAs(name, role)}
        </span>
      </Tooltip>
      {tokenStore.read() !== null && (
        <Button label={words.signOut} icon={LogOut} iconOnly small tone="quiet" onClick={() => void signOut()} />
      )}
    </>
  );
}
