import { describe, expect, it } from 'vitest';
import type { Role, Session } from '../api/types';
import { sampleJob } from '../testing/samples';
import { availability } from './controls';
import { reasonAgainst, type Action } from './permissions';

const session = (role: Role): Session => ({ name: 'alice', role, expires_at: null });
const ALL: Action[] = ['control', 'watch', 'open_model', 'terminate', 'delete', 'audit'];
const permitted = (role: Role) => ALL.filter((action) => reasonAgainst(action, session(role), null) === '');

describe('a role', () => {
  it('permits what the roles before it permit, and more', () => {
    expect(permitted('view')).toEqual([]);
    expect(permitted('control')).toEqual(['control', 'watch', 'open_model']);
    expect(permitted('admin')).toEqual(ALL);
  });

  it('is named when it is too low', () => {
    expect(reasonAgainst('terminate', session('control'), null)).toBe(
      'This needs the role “admin”; yours is “control”.',
    );
  });

  it('that is not known yet permits everything, since the server decides', () => {
    expect(ALL.map((action) => reasonAgainst(action, null, sampleJob()))).toEqual(ALL.map(() => ''));
  });
});

describe('a job', () => {
  it('limits even an admin to what its owner allows', () => {
    const job = sampleJob({ allowed: ['view', 'control'] });
    expect(reasonAgainst('terminate', session('admin'), job)).toContain('does not allow terminating');
    expect(reasonAgainst('control', session('admin'), job)).toBe('');
    expect(reasonAgainst('watch', session('admin'), sampleJob({ allowed: ['view'] }))).toContain('GRAPHDBG_ALLOW');
  });

  it('that is damaged can only be removed', () => {
    const job = sampleJob({ damaged: 'the record is incomplete' });
    expect(reasonAgainst('watch', session('admin'), job)).toContain('damaged');
    expect(reasonAgainst('delete', session('admin'), job)).toBe('');
  });
});

describe('commands', () => {
  it('are available as far as the role goes', () => {
    const reason = (command: 'continue' | 'terminate', role: Role) =>
      availability(command, sampleJob(), true, null, session(role)).reason;
    expect(reason('continue', 'view')).toContain('role “control”');
    expect(reason('continue', 'control')).toBe('');
    expect(reason('terminate', 'control')).toContain('role “admin”');
    expect(reason('terminate', 'admin')).toBe('');
  });
});
