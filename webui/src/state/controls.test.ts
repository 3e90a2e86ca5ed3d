import { describe, expect, it } from 'vitest';
import type { ControlCommand, Job, JobState } from '../api/types';
import { sampleJob } from '../testing/samples';
import { availability, commandOfKey } from './controls';

const ALL: ControlCommand[] = ['continue', 'step', 'next_node', 'continue_to', 'pause', 'terminate'];

function enabledIn(state: JobState): ControlCommand[] {
  const job = sampleJob({ state });
  return ALL.filter((command) => availability(command, job, true, null).enabled);
}

describe('availability', () => {
  it('fits the state', () => {
    expect(enabledIn('paused')).toEqual(['continue', 'step', 'next_node', 'continue_to', 'terminate']);
    expect(enabledIn('running')).toEqual(['pause', 'terminate']);
    expect(enabledIn('pausing')).toEqual(['terminate']);
    for (const state of ['connecting', 'finished', 'terminated', 'lost'] as const) {
      expect(enabledIn(state)).toEqual([]);
    }
  });

  it('says what the backend of the job cannot do', () => {
    const job = sampleJob({ unsupported_commands: { next_node: 'No steps within steps' } });
    expect(availability('next_node', job, true, null)).toEqual({
      enabled: false,
      reason: 'No steps within steps.',
    });
    expect(availability('step', job, true, null).enabled).toBe(true);
  });

  it('rechecks where a watchpoint has changed since the stop', () => {
    const recheck = (change: Partial<Job>) => availability('recheck', sampleJob(change), true, null);
    expect(recheck({ unchecked_watchpoints: [2] }).enabled).toBe(true);
    expect(recheck({}).reason).toContain('No watchpoint has changed');
    expect(recheck({ state: 'running', unchecked_watchpoints: [2] }).enabled).toBe(false);
  });

  it('always says why not', () => {
    for (const state of ['connecting', 'paused', 'running', 'pausing', 'finished', 'lost'] as const) {
      for (const command of [...ALL, 'recheck' as const]) {
        const { enabled, reason } = availability(command, sampleJob({ state }), true, null);
        expect(enabled).toBe(reason === '');
      }
    }
    expect(availability('continue', null, true, null).reason).not.toBe('');
    expect(availability('continue', sampleJob(), false, null).reason).toContain('Not connected');
  });

  it('waits for the command that is on its way, but lets the job be ended', () => {
    const pending = { command: 'continue', command_id: 'c1' } as const;
    expect(availability('continue', sampleJob(), true, pending).enabled).toBe(false);
    expect(availability('step', sampleJob(), true, pending).reason).toContain('Continue was sent');
    expect(availability('terminate', sampleJob(), true, pending).enabled).toBe(true);
  });
});

describe('keys', () => {
  it.each([
    ['F8', false, 'continue'],
    ['F5', false, 'continue'],
    ['F5', true, 'terminate'],
    ['F6', false, 'pause'],
    ['F10', false, 'step'],
    ['F11', false, 'next_node'],
    ['F10', true, null],
    ['a', false, null],
  ])('%s (shift: %s) means %s', (key, shift, command) =>
    expect(commandOfKey(key, shift, false)).toBe(command),
  );

  it('with Ctrl, Alt or Meta belong to the browser', () => {
    expect(commandOfKey('F5', false, true)).toBeNull();
  });
});
