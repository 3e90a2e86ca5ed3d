// The context menu of a node in the tree, in the graph and in lists.

import { ArrowRightToLine, ChevronsDownUp, ChevronsUpDown, Copy, Eye, LocateFixed, TriangleAlert, Waypoints } from 'lucide-react';
import { useAuth } from '../state/auth';
import { copyText } from '../state/clipboard';
import { useTargets } from '../state/command_ranks';
import { availability, rankFor } from '../state/controls';
import { sendCommand, useJob } from '../state/job_store';
import { currentOpen, revealNode, showAround, toggleScope } from '../state/scopes';
import { closeNodeMenu, openWatchForm, touch, useUi, type NodeMenuState } from '../state/ui';
import { watchForOverflow } from '../state/watchpoints';
import { Menu, type MenuItem } from '../widgets/menu';
import { commandNames, onRank } from '../words/control';
import * as words from '../words/graph';
import { useReasonAgainst } from './use_reason_against';

function Items({ menu }: { menu: NodeMenuState }) {
  const { node, kind, x, y } = menu;
  const job = useJob((state) => state.model.info);
  const live = useJob((state) => state.connection === 'live');
  const session = useAuth((state) => state.session);
  const forbidden = useReasonAgainst('watch');
  const pending = useJob((state) => state.pending);
  const targets = useTargets(job?.id ?? null);
  const rank = rankFor('continue_to', job, targets);
  const reach = availability('continue_to', job, live, pending, session, targets).reason;
  const isScope = kind === 'scope';
  const isOpen = isScope && currentOpen().has(node);
  const items: MenuItem[] = [
    ...(kind === 'op'
      ? [
          {
            label: rank === null ? commandNames.continue_to : onRank(commandNames.continue_to, rank),
            icon: ArrowRightToLine,
            disabledReason: reach,
            onChoose: () => void sendCommand('continue_to', { node }),
          },
        ]
      : []),
    {
      label: words.goToNode,
      icon: LocateFixed,
      onChoose: () => {
        touch();
        revealNode(node);
      },
    },
    ...(isScope
      ? [
          {
            label: isOpen ? words.closeScope : words.openScope,
            icon: isOpen ? ChevronsDownUp : ChevronsUpDown,
            onChoose: () => {
              touch();
              toggleScope(node);
            },
          },
        ]
      : [
          {
            label: words.showNeighbourhood,
            icon: Waypoints,
            onChoose: () => {
              touch();
              revealNode(node);
              showAround(1);
            },
          },
        ]),
    {
      label: isScope ? words.watchInside : words.watch,
      disabledReason: forbidden,
      icon: Eye,
      separated: true,
      onChoose: () => openWatchForm(node),
    },
    {
      label: words.stopAtNan,
      disabledReason: forbidden,
      icon: TriangleAlert,
      onChoose: () => void watchForOverflow({ kind: isScope ? 'scope' : 'node', name: node }),
    },
    {
      label: words.copyFullName,
      icon: Copy,
      separated: true,
      onChoose: () => void copyText(node),
    },
  ];
  return <Menu label={node} items={items} x={x} y={y} onClose={closeNodeMenu} />;
}

export function NodeMenu() {
  const menu = useUi((state) => state.node_menu);
  return menu === null ? null : <Items key={`${menu.node} ${menu.x} ${menu.y}`} menu={menu} />;
}
