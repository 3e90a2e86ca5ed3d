// Mutes the node of an incident, or its watchpoint for some steps.

import { BellOff } from 'lucide-react';
import { useRef, useState } from 'react';
import type { Incident } from '../api/types';
import { useJob } from '../state/job_store';
import { muteNode, muteWatchpoint, useMutedWatchpoints } from '../state/mutes';
import { Button } from '../widgets/button';
import { Menu, type MenuItem } from '../widgets/menu';
import * as words from '../words/incidents';
import { useReasonAgainstWatching } from './use_reason_against';

const STEPS = [1, 10, 100, 1000];

export function MuteButton({ incident }: { incident: Incident }) {
  const step = useJob(({ model }) => model.info?.step ?? 0);
  const forbidden = useReasonAgainstWatching();
  const anchor = useRef<HTMLSpanElement>(null);
  const [at, setAt] = useState<{ x: number; y: number } | null>(null);
  const { watchpoint } = incident.origin;
  const items: MenuItem[] = [
    { label: words.muteNode, onChoose: () => void muteNode(incident) },
    ...STEPS.map(
      (steps, i): MenuItem => ({
        label: words.muteUntil(watchpoint, step + steps),
        disabledReason: forbidden,
        separated: i === 0,
        onChoose: () => void muteWatchpoint(watchpoint, step + steps),
      }),
    ),
  ];
  return (
    <span ref={anchor}>
      <Button
        label={words.mute}
        hint={words.muteHint}
        icon={BellOff}
        iconOnly
        small
        tone="quiet"
        onClick={() => {
          const box = anchor.current?.getBoundingClientRect();
          if (box !== undefined) setAt({ x: box.left, y: box.bottom + 4 });
        }}
      />
      {at !== null && <Menu label={words.mute} items={items} {...at} onClose={() => setAt(null)} />}
    </span>
  );
}

// Shows nothing; turns muted watchpoints on again.
export function MutedWatchpoints() {
  useMutedWatchpoints();
  return null;
}
