import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import './styles/base.css';
import { startAuth } from './state/auth';
import { followAddress, useRouter } from './state/router';
import { startScopes } from './state/scopes';
import { App } from './views/app';

// Mostly the server has answered by now; what says that it is being asked would be
// drawn only to be thrown away.
const ANSWER_MS = 150;

const root = document.getElementById('root');
if (root !== null) {
  followAddress();
  const asked = startAuth();
  // Takes what boot.ts has asked for.
  const { route } = useRouter.getState();
  if (route.view === 'job') startScopes(route.route.job, route.route.graph);
  await Promise.race([asked, new Promise((done) => setTimeout(done, ANSWER_MS))]);
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
