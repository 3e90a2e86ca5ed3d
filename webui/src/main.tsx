import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import './styles/base.css';
import { startAuth } from './state/auth';
import { followAddress, useRouter } from './state/router';
import { startScopes } from './state/scopes';
import { App } from './views/app';

const root = document.getElementById('root');
if (root !== null) {
  followAddress();
  void startAuth();
  // Takes what boot.ts has asked for.
  const { route } = useRouter.getState();
  if (route.view === 'job') startScopes(route.route.job);
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
