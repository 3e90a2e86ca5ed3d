// Beside a command: of several ranks, the one that it moves. The page keeps the rank that it shows.

import { ChevronDown } from 'lucide-react';
import { useRef, useState } from 'react';
import type { Job, Rank } from '../api/types';
import { chooseRank } from '../state/command_ranks';
import { isEnded } from '../state/job';
import { useSelectedRank } from '../state/router';
import { stateWords } from '../state/words';
import { Menu, type MenuItem } from '../widgets/menu';
import { Tooltip } from '../widgets/tooltip';
import * as words from '../words/control';

function whereOf({ state, node }: Rank): string {
  return state === 'paused' && node !== '' ? words.pausedAtNode(node) : stateWords(state, null).toLowerCase();
}

interface Props {
  job: Job;
  command: 'step' | 'next_node';
  // Null: all ranks.
  chosen: number | null;
}

export function RankChooser({ job, command, chosen }: Props) {
  const shown = useSelectedRank();
  const trigger = useRef<HTMLButtonElement>(null);
  const [at, setAt] = useState<{ x: number; y: number } | null>(null);
  const name = words.commandNames[command];
  const open = () => {
    const box = trigger.current?.getBoundingClientRect();
    if (box !== undefined) setAt({ x: box.left, y: box.bottom + 4 });
  };
  const together: MenuItem = {
    label: command === 'step' ? words.allRanks : words.rankShown(shown),
    onChoose: () => chooseRank(job.id, command, null),
    checked: command === 'step' ? chosen === null : chosen === shown,
  };
  const items = job.ranks
    .filter(({ rank }) => command === 'step' || rank !== shown)
    .map(
      (each, i): MenuItem => ({
        label: words.rankItem(each.rank, whereOf(each)),
        checked: each.rank === chosen,
        disabledReason: isEnded(each.state) ? words.refusals[each.state] ?? '' : '',
        separated: i === 0,
        onChoose: () => chooseRank(job.id, command, each.rank),
      }),
    );
  return (
    <>
      <Tooltip text={words.chooseRankHint(name)}>
        <button
          ref={trigger}
          type="button"
          className="button button-plain button-icon controls-rank"
          aria-label={words.rankOf(name)}
          aria-haspopup="menu"
          aria-expanded={at !== null}
          onClick={open}
        >
          <ChevronDown aria-hidden size={13} />
        </button>
      </Tooltip>
      {at !== null && <Menu label={words.rankOf(name)} items={[together, ...items]} {...at} onClose={() => setAt(null)} />}
    </>
  );
}
