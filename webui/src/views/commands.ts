// What the palette offers: everything that can be done here, by name.

import type { ControlCommand } from '../api/types';
import { copyText } from '../state/clipboard';
import { availability, COMMAND_NAMES } from '../state/controls';
import { goToNextHit } from '../state/hits';
import { sendCommand, useJob } from '../state/job_store';
import { navigate, patchRoute, useRouter } from '../state/router';
import { closeAll, openAll, revealNode } from '../state/scopes';
import { openWatchForm, setTall, showOverlay, touch, useUi } from '../state/ui';
import { addRecommended, watchForOverflow } from '../state/watchpoints';

export interface Command {
  title: string;
  group: string;
  shortcut?: string;
  // Empty or absent: it can be done now.
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

const PANELS: Array<[string | null, string]> = [
  [null, 'values'],
  ['heat', 'heat map'],
  ['histogram', 'histogram'],
  ['history', 'history'],
  ['compare', 'comparison'],
];

function runCommands(): Command[] {
  const { model, connection, pending } = useJob.getState();
  return RUN.map(([command, shortcut]) => ({
    title: COMMAND_NAMES[command],
    group: 'Run',
    ...(shortcut === undefined ? {} : { shortcut }),
    reason: availability(command, model.info, connection === 'live', pending).reason,
    run: () => void sendCommand(command),
  }));
}

function continueTo(node: string | null): Command {
  const { model, connection, pending } = useJob.getState();
  const { reason } = availability('continue_to', model.info, connection === 'live', pending);
  return {
    title: 'Continue to the selected node',
    group: 'Run',
    reason: node === null ? 'Select a node first.' : reason,
    run: () => void sendCommand('continue_to', { node: node ?? '' }),
  };
}

function goCommands(): Command[] {
  const { model } = useJob.getState();
  const node = model.info?.node ?? '';
  const noHit = model.hits.length === 0 ? 'There are no hits.' : '';
  return [
    {
      title: 'Go to where the job stands',
      group: 'Go',
      reason: node === '' ? 'The job stands at no node.' : '',
      run: () => revealNode(node),
    },
    { title: 'Next hit', group: 'Go', shortcut: 'N', reason: noHit, run: () => goToNextHit(1) },
    { title: 'Previous hit', group: 'Go', shortcut: 'Shift+N', reason: noHit, run: () => goToNextHit(-1) },
    { title: 'All jobs', group: 'Go', run: () => navigate({ view: 'jobs' }) },
  ];
}

function watchCommands(node: string | null): Command[] {
  const { info } = useJob.getState().model;
  const offered = info?.recommended_offered === true;
  return [
    { title: 'Add watchpoint…', group: 'Watch', run: () => openWatchForm(node) },
    {
      title: 'Add the recommended watchpoints',
      group: 'Watch',
      reason: offered ? '' : 'They are there already.',
      run: () => void addRecommended(),
    },
    {
      title: 'Stop at the first NaN or infinity anywhere',
      group: 'Watch',
      run: () => void watchForOverflow({ kind: 'everything' }),
    },
  ];
}

function viewCommands(node: string | null): Command[] {
  const reason = node === null ? 'Select a node first.' : '';
  const { tall } = useUi.getState();
  return [
    ...PANELS.map(([panel, words]) => ({
      title: `Show ${words}`,
      group: 'View',
      reason,
      run: () => patchRoute({ panel }),
    })),
    {
      title: tall ? 'Give the graph its room back' : 'Give the node panel all the room',
      group: 'View',
      run: () => setTall(!tall),
    },
    { title: 'Open all scopes', group: 'View', run: openAll },
    { title: 'Close all scopes', group: 'View', run: closeAll },
    { title: 'Copy the address of this view', group: 'View', run: () => void copyText(window.location.href) },
    { title: 'Keys', group: 'View', shortcut: '?', run: () => showOverlay('keys') },
  ];
}

function rankCommands(): Command[] {
  const ranks = useJob.getState().model.info?.ranks ?? [];
  if (ranks.length < 2) return [];
  return ranks.map(({ rank }) => ({
    title: `Look at rank ${rank}`,
    group: 'Ranks',
    run: () => {
      touch();
      patchRoute({ rank });
    },
  }));
}

export function allCommands(): Command[] {
  const { route } = useRouter.getState();
  if (route.view === 'jobs') return [{ title: 'Keys', group: 'View', shortcut: '?', run: () => showOverlay('keys') }];
  const { node } = route.route;
  return [...runCommands(), continueTo(node), ...watchCommands(node), ...goCommands(), ...viewCommands(node), ...rankCommands()];
}
