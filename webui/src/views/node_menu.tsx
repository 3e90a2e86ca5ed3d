// The context menu of a node in the tree, in the graph and in lists.

import { ArrowRightToLine, ChevronsDownUp, ChevronsUpDown, CircleDot, Copy, Eye, LocateFixed, TriangleAlert, Waypoints } from 'lucide-react';
import { useAuth } from '../state/auth';
import { copyText } from '../state/clipboard';
import { useTargets } from '../state/command_ranks';
import { availability, rankFor } from '../state/controls';
import { sendCommand, useJob } from '../state/job_store';
import { currentOpen, revealNode, showAround, toggleScope, useScopes } from '../state/scopes';
import { closeNodeMenu, openWatchForm, touch, useUi, type NodeMenuState } from '../state/ui';
import { breakOn, watchForOverflow } from '../state/watchpoints';
import { Menu, type MenuItem } from '../widgets/menu';
import { commandNames, onRank } from '../words/control';
import * as words from '../words/graph';
import { useReasonAgainst } from './use_reason_against';

const NO_NAMES = { nodes: [], scopes: [], patterns: [], categories: [] };

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
  const facts = useScopes(({ index }) => index)?.opFacts(node) ?? null;
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
    ...(facts === null
      ? []
      : [
          {
            label: facts.source === '' ? words.breakOnOp : words.breakOn(facts.place),
            disabledReason: forbidden,
            icon: CircleDot,
            onChoose: () => void breakOn(facts.source === '' ? { nodes: [node] } : { sources: [facts.source] }),
          },
          {
            label: words.stopAtNanInAll(facts.type),
            disabledReason: forbidden,
            icon: TriangleAlert,
            onChoose: () => void watchForOverflow({ kind: 'lists', lists: { ...NO_NAMES, op_types: [facts.type] } }),
          },
        ]),
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
