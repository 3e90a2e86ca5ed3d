// The commands of the palette: everything that can be done in the current view.

import type { ControlCommand } from '../api/types';
import { copyText } from '../state/clipboard';
import { useAuth } from '../state/auth';
import { targetsFor } from '../state/command_ranks';
import { availability } from '../state/controls';
import { controllerOf } from '../state/journal';
import { giveBack } from '../state/lease';
import { reasonAgainst } from '../state/permissions';
import { goToNextHit } from '../state/hits';
import { sendCommand, useJob } from '../state/job_store';
import { toggleOverview } from '../state/overview_route';
import { navigate, patchRoute, useRouter } from '../state/router';
import { closeAll, openAll, revealNode } from '../state/scopes';
import { openWatchForm, setTall, showOverlay, touch, useUi } from '../state/ui';
import { addRecommended, watchForOverflow, watchTraining } from '../state/watchpoints';
import { canTestTraining } from '../state/frameworks';
import { selectNodeFirst } from '../words/common';
import { giveBack as giveBackLabel, notController } from '../words/access';
import { changeJob, pauseFirst } from '../words/change_orders';
import { commandNames } from '../words/control';
import { closeAllScopes, goToCurrentNode, noCurrentNode, openAllScopes } from '../words/graph';
import { guideHome, openGuide } from '../words/guide';
import { allJobs, keyboardShortcuts } from '../words/job';
import { restoreLayout } from '../words/node';
import * as words from '../words/palette';
import { switchToRank } from '../words/ranks';
import { panelInAddress, panelsFor } from './tensor_panels';

export interface Command {
  title: string;
  group: string;
  shortcut?: string;
  // The reason why the command is disabled; empty or absent if it is enabled.
  reason?: string;
  run: () => void;
}

const RUN: Array<[ControlCommand, string | undefined]> = [
  ['continue', 'F5'],
  ['pause', 'F6'],
  ['step', 'F10'],
  ['next_node', 'F11'],
  ['recheck', undefined],
];

const { groups } = words;

function runCommands(): Command[] {
  const { id, model, connection, pending } = useJob.getState();
  const { session } = useAuth.getState();
  return RUN.map(([command, shortcut]) => ({
    title: commandNames[command],
    group: groups.run,
    ...(shortcut === undefined ? {} : { shortcut }),
    reason: availability(command, model.info, connection === 'live', pending, session, targetsFor(id)).reason,
    run: () => void sendCommand(command),
  }));
}

function continueTo(node: string | null): Command {
  const { id, model, connection, pending } = useJob.getState();
  const { session } = useAuth.getState();
  const { reason } = availability('continue_to', model.info, connection === 'live', pending, session, targetsFor(id));
  return {
    title: words.continueToSelected,
    group: groups.run,
    reason: node === null ? selectNodeFirst : reason,
    run: () => void sendCommand('continue_to', { node: node ?? '' }),
  };
}

function giveBackControl(): Command {
  const { model, id } = useJob.getState();
  const controls = controllerOf(model.info) !== null && controllerOf(model.info) === useAuth.getState().session?.name;
  return {
    title: giveBackLabel,
    group: groups.run,
    reason: controls ? '' : notController,
    run: () => void giveBack(id ?? ''),
  };
}

function changeCommand(): Command {
  const { info } = useJob.getState().model;
  const forbidden = reasonAgainst('change', useAuth.getState().session, info);
  return {
    title: changeJob,
    group: groups.run,
    reason: forbidden !== '' || info?.state === 'paused' ? forbidden : pauseFirst,
    run: () => showOverlay('change'),
  };
}

function goCommands(): Command[] {
  const { model } = useJob.getState();
  const node = model.info?.node ?? '';
  const noHit = model.hits.length === 0 ? words.noHits : '';
  return [
    {
      title: goToCurrentNode,
      group: groups.go,
      reason: node === '' ? noCurrentNode : '',
      run: () => revealNode(node),
    },
    { title: words.nextHit, group: groups.go, shortcut: 'N', reason: noHit, run: () => goToNextHit(1) },
    { title: words.previousHit, group: groups.go, shortcut: 'Shift+N', reason: noHit, run: () => goToNextHit(-1) },
    { title: allJobs, group: groups.go, run: () => navigate({ view: 'jobs' }) },
  ];
}

function watchCommands(node: string | null): Command[] {
  const { info } = useJob.getState().model;
  const offered = info?.recommended_offered === true;
  const forbidden = reasonAgainst('watch', useAuth.getState().session, info);
  return [
    { title: words.addWatchpoint, group: groups.watch, reason: forbidden, run: () => openWatchForm(node) },
    {
      title: words.addRecommended,
      group: groups.watch,
      reason: offered ? forbidden : words.alreadyAdded,
      run: () => void addRecommended(),
    },
    {
      title: words.stopAtFirstNan,
      group: groups.watch,
      reason: forbidden,
      run: () => void watchForOverflow({ kind: 'everything' }),
    },
    {
      title: words.stopIfNotLearning,
      group: groups.watch,
      reason: canTestTraining(info?.framework) ? forbidden : words.onlyPyTorch,
      run: () => void watchTraining(),
    },
  ];
}

function helpCommands(): Command[] {
  return [
    { title: keyboardShortcuts, group: groups.view, shortcut: '?', run: () => showOverlay('keys') },
    { title: openGuide, group: groups.view, run: () => void window.open(guideHome, '_blank', 'noopener') },
  ];
}

function viewCommands({ node, overview }: { node: string | null; overview: string | null }): Command[] {
  const reason = node === null ? selectNodeFirst : '';
  const { tall } = useUi.getState();
  return [
    ...panelsFor(useJob.getState().model.info?.ranks.length ?? 1).map(({ id, command }) => ({
      title: command,
      group: groups.view,
      reason,
      run: () => patchRoute({ panel: panelInAddress(id) }),
    })),
    {
      title: tall ? restoreLayout : words.maximizePanel,
      group: groups.view,
      run: () => setTall(!tall),
    },
    {
      title: overview !== null ? words.showGraph : words.showOverview,
      group: groups.view,
      shortcut: 'O',
      run: toggleOverview,
    },
    { title: openAllScopes, group: groups.view, run: openAll },
    { title: closeAllScopes, group: groups.view, run: closeAll },
    { title: words.copyLink, group: groups.view, run: () => void copyText(window.location.href) },
    ...helpCommands(),
  ];
}

function rankCommands(): Command[] {
  const ranks = useJob.getState().model.info?.ranks ?? [];
  if (ranks.length < 2) return [];
  return ranks.map(({ rank }) => ({
    title: switchToRank(rank),
    group: groups.ranks,
    run: () => {
      touch();
      patchRoute({ rank });
    },
  }));
}

export function allCommands(): Command[] {
  const { route } = useRouter.getState();
  if (route.view !== 'job') return helpCommands();
  const { node } = route.route;
  return [...runCommands(), continueTo(node), changeCommand(), giveBackControl(), ...watchCommands(node), ...goCommands(), ...viewCommands(route.route), ...rankCommands()];
}
