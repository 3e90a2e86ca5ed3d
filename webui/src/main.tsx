import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import './styles/base.css';
import { startAuth } from './state/auth';
import { followAddress } from './state/router';
import { App } from './views/app';

const root = document.getElementById('root');
if (root !== null) {
  followAddress();
  void startAuth();
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
