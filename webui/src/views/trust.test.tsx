// The page's messages about jobs and servers that cannot be relied on, and about who controls a job.

import { QueryClientProvider } from '@tanstack/react-query';
import { act, fireEvent, render, screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AuditEntry, Job, Role, Storage } from '../api/types';
import { useAuth } from '../state/auth';
import { useJobs } from '../state/jobs_store';
import { createQueryClient } from '../state/queries';
import { useStorage } from '../state/storage';
import { sampleJob } from '../testing/samples';
import { AuditView } from './audit_view';
import { ControllerChip } from './controller_chip';
import { JobsView } from './jobs_view';
import { StorageBanner } from './storage_banner';

const fetched = vi.fn<typeof fetch>();
const STORED: Storage = { state: 'ok', reason: null, since: null, set_aside: [] };

let jobs: Job[];

class NoSocket extends EventTarget {
  close(): void {}
}

function as(role: Role, name = 'bob'): void {
  useAuth.setState({ session: { name, role, expires_at: null } });
}

beforeEach(() => {
  jobs = [];
  fetched.mockReset().mockImplementation(async (url, options) => {
    if (options?.method === 'DELETE') {
      jobs = jobs.filter(({ id }) => !String(url).endsWith(`/${id}`));
      return new Response(null, { status: 204 });
    }
    return Response.json({ jobs, runs: [] });
  });
  vi.stubGlobal('fetch', fetched);
  vi.stubGlobal('WebSocket', NoSocket);
  HTMLDialogElement.prototype.showModal = function showModal() {
    this.open = true;
  };
  HTMLDialogElement.prototype.close = function close() {
    this.open = false;
    this.dispatchEvent(new Event('close'));
  };
  useStorage.setState({ storage: STORED });
  useJobs.setState({ jobs: null, error: null, connection: 'live' });
  as('admin');
});
afterEach(() => vi.unstubAllGlobals());

function renderJobs(): void {
  render(
    <QueryClientProvider client={createQueryClient()}>
      <JobsView />
    </QueryClientProvider>,
  );
}

describe('the list of jobs', () => {
  it('marks damaged and unverified jobs', async () => {
    jobs = [
      sampleJob({ id: 'a', name: 'torn.py', state: 'finished', damaged: 'step 3 is incomplete' }),
      sampleJob({ id: 'b', name: 'lenet.py', framework: 'mindspore', verified: false }),
      sampleJob({ id: 'c', name: 'good.py' }),
    ];
    renderJobs();
    const row = async (name: string) => (await screen.findByRole('link', { name })).closest('tr')?.textContent;
    expect(await row('torn.py')).toContain('Damagedstep 3 is incomplete');
    expect(await row('lenet.py')).toContain('unverified');
    expect(await row('good.py')).not.toMatch(/Damaged|unverified/);
  });

  it('names jobs that could not be read at all', async () => {
    jobs = [sampleJob({ id: 'a', name: 'torn.py', damaged: 'torn' })];
    const set_aside = [
      { job: 'a', reason: 'torn' },
      { job: 'z', reason: 'not a database' },
    ];
    useStorage.setState({ storage: { ...STORED, set_aside } });
    renderJobs();
    const list = await screen.findByRole('region', { name: 'Jobs that could not be read' });
    expect(list.textContent).toBe('Jobs that could not be readz not a database');
  });

  it('removes a job only after a confirmation', async () => {
    jobs = [sampleJob({ id: 'a', name: 'old.py', state: 'finished' })];
    renderJobs();
    fireEvent.click(await screen.findByRole('button', { name: 'Remove old.py' }));
    fireEvent.click(screen.getByRole('button', { name: 'Cancel' }));
    expect(jobs).toHaveLength(1);
    fireEvent.click(screen.getByRole('button', { name: 'Remove old.py' }));
    expect(screen.getByRole('alertdialog').textContent).toContain('Remove old.py?');
    fireEvent.click(screen.getByRole('button', { name: 'Remove job' }));
    await waitFor(() => expect(screen.queryByText('old.py')).toBeNull());
    expect(jobs).toHaveLength(0);
  });

  it('lets only an admin remove jobs and read the audit log', async () => {
    as('control');
    jobs = [sampleJob({ id: 'a', name: 'old.py', state: 'finished' })];
    renderJobs();
    const remove = await screen.findByRole('button', { name: 'Remove old.py' });
    expect(remove.getAttribute('aria-description')).toContain('role “admin”');
    expect(screen.getByRole('button', { name: 'Audit log' }).getAttribute('aria-disabled')).toBe('true');
    expect(screen.getByRole('button', { name: 'Open model' }).getAttribute('aria-disabled')).toBeNull();
  });
});

describe('a server that cannot store', () => {
  it('says so, why, and what it means, until it can again', () => {
    render(<StorageBanner />);
    expect(screen.queryByRole('alert')).toBeNull();
    const failing: Storage = { ...STORED, state: 'failing', reason: 'no space left', since: '2026-01-01T12:00:00Z' };
    act(() => useStorage.setState({ storage: failing }));
    const text = screen.getByRole('alert').textContent;
    expect(text).toContain('cannot store what happens: no space left.');
    expect(text).toContain('Storing resumes by itself.');
    act(() => useStorage.setState({ storage: STORED }));
    expect(screen.queryByRole('alert')).toBeNull();
  });
});

describe('the control of a job', () => {
  const controlled = (name: string) => sampleJob({ controller: { name, since: '2026-01-01T00:00:00Z' } });

  it('is shown if somebody else has it', async () => {
    render(<ControllerChip job={controlled('alice')} />);
    screen.getByText('Controlled by alice');
    await userEvent.setup().click(screen.getByRole('button', { name: 'Take over' }));
    expect(fetched.mock.lastCall?.[0]).toBe('/api/v1/jobs/j/lease');
    expect(fetched.mock.lastCall?.[1]?.method).toBe('POST');
  });

  it('is not shown to the one who has it', () => {
    const { container } = render(<ControllerChip job={controlled('bob')} />);
    expect(container.textContent).toBe('');
  });

  it('cannot be taken over by a viewer', () => {
    as('view');
    render(<ControllerChip job={controlled('alice')} />);
    expect(screen.getByRole('button', { name: 'Take over' }).getAttribute('aria-description')).toContain('“control”');
  });
});

describe('the audit log', () => {
  const entry = (detail: string, change: Partial<AuditEntry> = {}): AuditEntry => ({
    time: '2026-01-01T00:00:00Z',
    who: 'alice',
    role: 'control',
    from: '127.0.0.1:4000',
    action: 'control',
    job: 'j',
    detail,
    result: 'ok',
    ...change,
  });

  function show(): void {
    render(
      <QueryClientProvider client={createQueryClient()}>
        <AuditView />
      </QueryClientProvider>,
    );
  }

  it('adds older entries on request', async () => {
    fetched.mockImplementation(async (url) =>
      Response.json(
        String(url).includes('cursor=2')
          ? { entries: [entry('step 1', { who: '', result: 'unauthorized' })], next_cursor: '' }
          : { entries: [entry('step 3'), entry('step 2')], next_cursor: '2' },
      ),
    );
    show();
    await screen.findByText('step 3');
    expect(screen.queryByText('step 1')).toBeNull();
    fireEvent.click(screen.getByRole('button', { name: 'Older entries' }));
    const row = (await screen.findByText('step 1')).closest('tr');
    expect(row?.textContent).toMatch(/unknown.*unauthorized/);
    expect(screen.getAllByRole('row')).toHaveLength(4);
    expect(screen.queryByRole('button', { name: 'Older entries' })).toBeNull();
  });

  it('is not requested in another role', () => {
    as('view');
    show();
    screen.getByText(/needs the role “admin”/);
    expect(fetched).not.toHaveBeenCalled();
  });
});
