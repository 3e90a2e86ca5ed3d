import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import './styles/base.css';
import { startAuth } from './state/auth';
import { reportSelections } from './state/embedding';
import { graphLoader } from './state/graph_loader';
import { followAddress, useRouter } from './state/router';
import { App } from './views/app';

// The server has usually answered within this time. Waiting for it avoids drawing a loading
// state that would be replaced at once.
const ANSWER_MS = 150;

const root = document.getElementById('root');
if (root !== null) {
  followAddress();
  reportSelections();
  const authenticated = startAuth();
  // Uses the graph that boot.ts has requested.
  const { route } = useRouter.getState();
  if (route.view === 'job') graphLoader.show(route.route.job, route.route.graph);
  await Promise.race([authenticated, new Promise((done) => setTimeout(done, ANSWER_MS))]);
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
