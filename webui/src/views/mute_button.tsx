// Mutes the node of an incident, or its watchpoints for some steps.

import { BellOff } from 'lucide-react';
import { useRef, useState } from 'react';
import type { Incident } from '../api/types';
import { useJob } from '../state/job_store';
import { muteNode, muteWatchpoints, watchpointsOf } from '../state/mutes';
import { mutedUntil } from '../state/watchpoints';
import { Button } from '../widgets/button';
import { Menu, type MenuItem } from '../widgets/menu';
import * as words from '../words/incidents';
import { useReasonAgainstWatching } from './use_reason_against';

const STEPS = [1, 10, 100, 1000];

// The last step until which a watchpoint of the incident is muted, or null.
export function useMutedUntil(incident: Incident): number | null {
  return useJob(({ model: { info, watchpoints } }) => {
    const own = watchpointsOf(incident);
    const until = watchpoints.filter(({ id }) => own.includes(id)).map((each) => mutedUntil(each, info?.step ?? 0) ?? 0);
    return Math.max(0, ...until) || null;
  });
}

export function MuteButton({ incident }: { incident: Incident }) {
  const step = useJob(({ model }) => model.info?.step ?? 0);
  const until = useMutedUntil(incident);
  const forbidden = useReasonAgainstWatching();
  const anchor = useRef<HTMLSpanElement>(null);
  const [at, setAt] = useState<{ x: number; y: number } | null>(null);
  const ids = watchpointsOf(incident);
  const forWatchpoints = (label: string, step: number, separated: boolean): MenuItem => ({
    label,
    disabledReason: forbidden,
    separated,
    onChoose: () => void muteWatchpoints(ids, step),
  });
  const items: MenuItem[] = [
    { label: words.muteNode, onChoose: () => void muteNode(incident) },
    ...STEPS.map((steps, i) => forWatchpoints(words.muteUntil(ids, step + steps), step + steps, i === 0)),
    ...(until === null ? [] : [forWatchpoints(words.unmuteWatchpoints(ids), 0, true)]),
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
