// Takes graphdbg out of all processes of the job, which continue.

import { Unplug } from 'lucide-react';
import { useState } from 'react';
import type { Job } from '../api/types';
import { useAuth } from '../state/auth';
import { reasonAgainst } from '../state/permissions';
import { detachFrom, isHere } from '../state/trainings';
import { Button } from '../widgets/button';
import * as words from '../words/trainings';
import { useOfflineReason } from './use_offline_reason';

// Nothing where the server attaches to no trainings, or for jobs of other machines.
export function DetachButton({ job }: { job: Job }) {
  const [pending, setPending] = useState(false);
  const { server, session } = useAuth();
  const offline = useOfflineReason();
  if (server?.attaches !== true || job.framework !== 'pytorch' || !job.ranks.every(isHere)) return null;
  const run = async () => {
    setPending(true);
    await detachFrom(
      job.name,
      job.ranks.map(({ pid }) => pid),
    );
    setPending(false);
  };
  return (
    <Button
      label={words.detach}
      hint={words.detachHint}
      icon={Unplug}
      iconOnly
      small
      tone="quiet"
      pending={pending}
      disabledReason={reasonAgainst('attach', session, job) || offline}
      onClick={() => void run()}
    />
  );
}
