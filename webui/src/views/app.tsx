// Which view the address asks for, once the server lets the page in.

import { QueryClientProvider } from '@tanstack/react-query';
import { ServerOff } from 'lucide-react';
import { useEffect, useState } from 'react';
import { checkAuth, useAuth } from '../state/auth';
import { createQueryClient } from '../state/queries';
import { useRouter } from '../state/router';
import { Button } from '../widgets/button';
import { Notice } from '../widgets/notice';
import { Toasts } from '../widgets/toasts';
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
    <Notice icon={ServerOff} title="The server does not answer" tone="error">
      <p>{message}</p>
      <p>Trying again every two seconds.</p>
      <Button label="Try now" onClick={() => void checkAuth()} />
    </Notice>
  );
}

function Content() {
  const status = useAuth((state) => state.status);
  const route = useRouter((state) => state.route);
  if (status === 'checking') return <Notice title="Connecting to the server" busy />;
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
