// Chooses the view that the address names, once the user is signed in.

import { QueryClientProvider, type QueryClient } from '@tanstack/react-query';
import { ServerOff } from 'lucide-react';
import { lazy, Suspense, useEffect, useState } from 'react';
import { checkAuth, useAuth } from '../state/auth';
import { retryConnection } from '../state/job_store';
import { createQueryClient } from '../state/queries';
import { useRouter } from '../state/router';
import { Button } from '../widgets/button';
import { Notice } from '../widgets/notice';
import { loading } from '../words/common';
import * as words from '../words/job';
import { JobView } from './job_view';
import { Overlays } from './overlays';

const LoginView = lazy(async () => ({ default: (await import('./login_view')).LoginView }));
const SessionEnded = lazy(async () => ({ default: (await import('./login_view')).SessionEnded }));
const JobsView = lazy(async () => ({ default: (await import('./jobs_view')).JobsView }));
const StartingView = lazy(async () => ({ default: (await import('./starting_view')).StartingView }));
const AuditView = lazy(async () => ({ default: (await import('./audit_view')).AuditView }));

const RETRY_MS = 2000;

function Unreachable() {
  const message = useAuth((state) => state.message);
  useEffect(() => {
    const timer = setInterval(() => void checkAuth(), RETRY_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <Notice icon={ServerOff} title={words.serverNotResponding} tone="error">
      <p>{message}</p>
      <p>{words.retryingEveryTwoSeconds}</p>
      <Button label={words.retryNow} onClick={() => void checkAuth()} />
    </Notice>
  );
}

function Content() {
  const { status, entered } = useAuth();
  const route = useRouter((state) => state.route);
  if (status === 'checking') return <Notice title={words.connectingToServer} busy />;
  if (status === 'unreachable') return <Unreachable />;
  if (status === 'needed' && !entered) {
    return (
      <Suspense fallback={null}>
        <LoginView />
      </Suspense>
    );
  }
  switch (route.view) {
    case 'jobs':
    case 'audit':
    case 'starting':
      return (
        <Suspense fallback={<Notice title={loading} busy />}>
          {route.view === 'jobs' && <JobsView />}
          {route.view === 'audit' && <AuditView />}
          {route.view === 'starting' && <StartingView name={route.name} />}
        </Suspense>
      );
    case 'job':
      return <JobView key={route.route.job} id={route.route.job} />;
  }
}

// Once the user has signed in again, what failed in between is requested again.
function useSignedInAgain(client: QueryClient): boolean {
  const ended = useAuth(({ status, entered }) => status === 'needed' && entered);
  const [before, setBefore] = useState(ended);
  useEffect(() => {
    if (before && !ended) {
      retryConnection();
      void client.refetchQueries({ predicate: ({ state }) => state.status === 'error' });
    }
    setBefore(ended);
  }, [before, ended, client]);
  return ended;
}

export function App() {
  const [client] = useState(createQueryClient);
  const ended = useSignedInAgain(client);
  return (
    <QueryClientProvider client={client}>
      <Content />
      <Suspense fallback={null}>{ended && <SessionEnded />}</Suspense>
      <Overlays />
    </QueryClientProvider>
  );
}
