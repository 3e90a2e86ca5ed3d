// Chooses the view that the address names, once the user is signed in.

import { QueryClientProvider } from '@tanstack/react-query';
import { ServerOff } from 'lucide-react';
import { useEffect, useState } from 'react';
import { checkAuth, useAuth } from '../state/auth';
import { createQueryClient } from '../state/queries';
import { useRouter } from '../state/router';
import { Button } from '../widgets/button';
import { Notice } from '../widgets/notice';
import { Toasts } from '../widgets/toasts';
import * as words from '../words/job';
import { JobView } from './job_view';
import { JobsView } from './jobs_view';
import { LoginView } from './login_view';
import { Overlays } from './overlays';

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
  const status = useAuth((state) => state.status);
  const route = useRouter((state) => state.route);
  if (status === 'checking') return <Notice title={words.connectingToServer} busy />;
  if (status === 'unreachable') return <Unreachable />;
  if (status === 'needed') return <LoginView />;
  return route.view === 'jobs' ? (
    <JobsView />
  ) : (
    <JobView key={route.route.job} id={route.route.job} />
  );
}

export function App() {
  const [client] = useState(createQueryClient);
  return (
    <QueryClientProvider client={client}>
      <Content />
      <Overlays />
      <Toasts />
    </QueryClientProvider>
  );
}
